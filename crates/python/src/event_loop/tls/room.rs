use pyo3::{ffi, prelude::*};
use std::{ffi::c_int, mem::MaybeUninit, slice};

/// The memory of an object of Python, as bytes in a row, which stay where they are until this is
/// dropped.
///
/// Law: whoever has the bytes runs no Python code meanwhile that could use them.
struct View<'a> {
    view: ffi::Py_buffer,
    /// It keeps the GIL, too.
    _object: &'a Bound<'a, PyAny>,
}

impl<'a> View<'a> {
    /// None: the object has no such memory.
    fn of(object: &'a Bound<'a, PyAny>, flags: c_int) -> Option<Self> {
        let mut view = MaybeUninit::<ffi::Py_buffer>::uninit();
        // SAFETY: the GIL is held, and the view is filled where this returns 0.
        let status = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), flags) };
        if status != 0 {
            drop(PyErr::take(object.py()));
            return None;
        }
        Some(Self {
            // SAFETY: it was filled.
            view: unsafe { view.assume_init() },
            _object: object,
        })
    }
}

impl Drop for View<'_> {
    fn drop(&mut self) {
        // SAFETY: the GIL is held, as long as the object is borrowed.
        unsafe { ffi::PyBuffer_Release(&mut self.view) }
    }
}

/// The room in a protocol's buffer.
pub struct Room<'a>(View<'a>);

impl<'a> Room<'a> {
    /// None: it is no buffer that can be written as bytes in a row, or it has no bytes.
    pub fn in_buffer(buffer: &'a Bound<'a, PyAny>) -> Option<Self> {
        let view = View::of(buffer, ffi::PyBUF_WRITABLE)?;
        (view.view.len > 0).then_some(Self(view))
    }

    pub fn bytes(&mut self) -> &mut [u8] {
        let view = &mut self.0.view;
        // SAFETY: the view is of so many bytes in a row, which may be written.
        unsafe { slice::from_raw_parts_mut(view.buf.cast::<u8>(), view.len as usize) }
    }
}

/// What `read` makes of the object's bytes; None: it is no bytes in a row, or there are none.
pub fn with_bytes<T>(object: &Bound<'_, PyAny>, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let view = View::of(object, ffi::PyBUF_SIMPLE)?;
    if view.view.len <= 0 {
        return None;
    }
    // SAFETY: the view is of so many bytes in a row.
    let bytes =
        unsafe { slice::from_raw_parts(view.view.buf.cast::<u8>(), view.view.len as usize) };
    Some(read(bytes))
}
