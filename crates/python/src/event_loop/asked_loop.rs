use pyo3::{
    PyTraverseError, PyVisit, ffi,
    prelude::*,
    types::{PyWeakrefMethods, PyWeakrefReference},
};
use std::ptr;

/// An event loop that is asked to call a ticker in its next iteration. This does not keep it alive.
pub struct AskedLoop {
    known: Py<PyWeakrefReference>,
    /// The function `call_soon` of the loop's class: a method would be looked up in each iteration.
    call_soon: Py<PyAny>,
}

impl AskedLoop {
    /// Raises TypeError when `asked_loop` takes no weak reference, AttributeError when it is no event loop.
    pub fn new(asked_loop: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            known: PyWeakrefReference::new(asked_loop)?.unbind(),
            call_soon: asked_loop.get_type().getattr("call_soon")?.unbind(),
        })
    }

    /// Have the loop, unless it is gone, call `callback` in its next iteration. This makes neither a
    /// bound method nor a tuple.
    pub fn call_soon(&self, callback: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = callback.py();
        let Some(asked_loop) = self.known.bind(py).upgrade() else {
            return Ok(());
        };
        // SAFETY: all are objects, and null ends the arguments; the result is owned, or null with an
        // error set.
        let handle = unsafe {
            let made = ffi::PyObject_CallFunctionObjArgs(
                self.call_soon.as_ptr(),
                asked_loop.as_ptr(),
                callback.as_ptr(),
                ptr::null_mut::<ffi::PyObject>(),
            );
            Bound::from_owned_ptr_or_err(py, made)
        };
        handle.map(drop)
    }

    /// For the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.known)?;
        visit.call(&self.call_soon)
    }
}
