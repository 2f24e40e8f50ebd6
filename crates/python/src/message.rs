use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBytes, PyMemoryView},
};

/// A message as bytes that nobody can change: what is not exactly `bytes` is copied.
pub fn immutable<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = data.cast_exact::<PyBytes>() {
        return Ok(bytes.clone());
    }
    let view = PyMemoryView::from(data).map_err(|_| {
        PyTypeError::new_err(format!(
            "a message must be a bytes-like object, not {}",
            data.get_type()
                .name()
                .map_or_else(|_| "this".into(), |name| name.to_string())
        ))
    })?;
    Ok(view.call_method0("tobytes")?.cast_into::<PyBytes>()?)
}

/// Why a message can never be taken.
pub fn too_large(message_bytes: usize) -> String {
    format!("a message of {message_bytes} bytes is larger than max_buffered_bytes")
}
