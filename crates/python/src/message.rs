use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBytes, PyMemoryView, PySlice},
};

/// The unwritten end of a message is copied behind the held bytes up to this size; if it is larger, the
/// message is kept.
const COPIED_BYTES: usize = 16 << 10;

/// A message as immutable bytes: an object that is not exactly `bytes` is copied.
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

/// The bytes that the kernel did not take: a copy of what was held, and the message from some byte on.
pub struct Rest<'py> {
    copied: Option<Bound<'py, PyBytes>>,
    message: Option<(Bound<'py, PyBytes>, usize)>,
}

impl<'py> Rest<'py> {
    /// `taken`: how many bytes of the message the kernel took. Raises MemoryError.
    pub fn new(
        py: Python<'py>,
        held: &[u8],
        message: Option<&Bound<'py, PyBytes>>,
        taken: usize,
    ) -> PyResult<Self> {
        let left = message.map_or(&[][..], |message| &message.as_bytes()[taken..]);
        let end = if left.len() > COPIED_BYTES { &[] } else { left };
        let copied_bytes = held.len() + end.len();
        let copy = |into: &mut [u8]| {
            into[..held.len()].copy_from_slice(held);
            into[held.len()..].copy_from_slice(end);
            Ok(())
        };
        Ok(Self {
            copied: match copied_bytes {
                0 => None,
                _ => Some(PyBytes::new_with(py, copied_bytes, copy)?),
            },
            message: message
                .filter(|_| left.len() > end.len())
                .map(|message| (message.clone(), taken)),
        })
    }

    /// A message of which nothing was taken.
    pub fn all_of(message: &Bound<'py, PyBytes>) -> Self {
        Self {
            copied: None,
            message: Some((message.clone(), 0)),
        }
    }

    pub fn bytes(&self) -> usize {
        let copied = self.copied.as_ref().map_or(0, |it| it.as_bytes().len());
        let of_message =
            |(message, taken): &(Bound<'_, PyBytes>, usize)| message.as_bytes().len() - taken;
        copied + self.message.as_ref().map_or(0, of_message)
    }

    /// The parts to write, in order; a large message is not copied.
    pub fn parts(self) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut parts: Vec<_> = self.copied.into_iter().map(Bound::into_any).collect();
        match self.message {
            None => {}
            Some((message, 0)) => parts.push(message.into_any()),
            Some((message, taken)) => {
                let end = isize::try_from(message.as_bytes().len()).unwrap_or(isize::MAX);
                let left = PySlice::new(message.py(), taken as isize, end, 1);
                parts.push(PyMemoryView::from(&message)?.get_item(left)?);
            }
        }
        Ok(parts)
    }
}

/// The error text for a message that can never be taken.
pub fn too_large(message_bytes: usize) -> String {
    format!("a message of {message_bytes} bytes is larger than max_buffered_bytes")
}
