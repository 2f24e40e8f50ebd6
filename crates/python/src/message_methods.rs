//! Methods that take messages, and cost no more than a C function of one argument (METH_O).

use pyo3::{
    ffi,
    prelude::*,
    pyclass::boolean_struct::True,
    types::{PyMemoryView, PyType},
};
use std::{ffi::CStr, ptr};

/// Methods for which PyO3 has no attribute; each is made by [`message_method`].
pub type Methods = &'static [ffi::PyMethodDef];

/// A class with methods that take one message, thousands of times a millisecond.
pub trait TakesMessages: pyo3::PyClass<Frozen = True> + Sync {
    const METHODS: Methods;

    /// Hold the message, if nothing else must be done; returns whether it was held.
    fn hold(&self, message: &[u8]) -> bool;
    /// Take a message that [`TakesMessages::hold`] did not.
    fn take(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> PyResult<()>;
}

/// A method of `T` that takes one message, and returns None or the message's length: one that is
/// only held costs half of what it costs through the general call protocol.
pub const fn message_method<T: TakesMessages, const RETURNS_LENGTH: bool>(
    name: &'static CStr,
    doc: &'static CStr,
) -> ffi::PyMethodDef {
    ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunction: take_message::<T, RETURNS_LENGTH>,
        },
        ml_flags: ffi::METH_O,
        ml_doc: doc.as_ptr(),
    }
}

/// Give the message methods of `T` to `class`, which is `T` or a subclass, as its own.
///
/// An inherited one does the same. But since CPython 3.11 only an object's very own class makes
/// `object.send(message)` a short call: the interpreter compares it with the method's.
///
/// Returns false when it is no such class.
pub fn add_message_methods<T: TakesMessages>(class: &Bound<'_, PyType>) -> PyResult<bool> {
    let py = class.py();
    if !class.is_subclass_of::<T>()? {
        return Ok(false);
    }
    for method in T::METHODS {
        // SAFETY: `class` is a type object, and `method` lives for ever and is only read; the
        // result is owned, or null with an error set. Instances of `class` are instances of `T`.
        let (descriptor, name) = unsafe {
            let method = ptr::from_ref(method).cast_mut();
            let made = ffi::PyDescr_NewMethod(class.as_type_ptr(), method);
            (
                Bound::from_owned_ptr_or_err(py, made)?,
                CStr::from_ptr((*method).ml_name),
            )
        };
        class.setattr(name.to_string_lossy().as_ref(), descriptor)?;
    }
    Ok(true)
}

unsafe extern "C" fn take_message<T: TakesMessages, const RETURNS_LENGTH: bool>(
    slf: *mut ffi::PyObject,
    data: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls with the GIL held, with an instance of `T`, for the method is
    // a descriptor of that class or of a subclass and checks it, and with one argument; both
    // outlive the call. A `bytes` object never changes.
    unsafe {
        let py = Python::assume_attached();
        if ffi::PyBytes_CheckExact(data) != 0 {
            let bytes = ffi::PyBytes_AsString(data).cast::<u8>();
            let message = std::slice::from_raw_parts(bytes, ffi::Py_SIZE(data) as usize);
            let this = Borrowed::from_ptr(py, slf).cast_unchecked::<T>();
            if this.get().hold(message) {
                return if RETURNS_LENGTH {
                    ffi::PyLong_FromSsize_t(ffi::Py_SIZE(data))
                } else {
                    ffi::Py_NewRef(ffi::Py_None())
                };
            }
        }
        take_message_slowly::<T, RETURNS_LENGTH>(slf, data)
    }
}

#[cold]
unsafe fn take_message_slowly<T: TakesMessages, const RETURNS_LENGTH: bool>(
    slf: *mut ffi::PyObject,
    data: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    Python::attach(|py| {
        // SAFETY: as in `take_message`.
        let (slf, data) = unsafe {
            (
                Borrowed::from_ptr(py, slf).cast_unchecked::<T>(),
                Borrowed::from_ptr(py, data),
            )
        };
        let length = || PyMemoryView::from(&data)?.getattr("nbytes");
        let taken = T::take(&slf, &data).and_then(|()| {
            if RETURNS_LENGTH {
                length().map(Bound::unbind)
            } else {
                Ok(py.None())
            }
        });
        match taken {
            Ok(result) => result.into_ptr(),
            Err(error) => {
                error.restore(py);
                ptr::null_mut()
            }
        }
    })
}
