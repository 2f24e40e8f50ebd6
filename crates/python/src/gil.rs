//! State that only a thread with the GIL touches, and methods that cost no more than a C function
//! of one argument.

use pyo3::{
    ffi,
    prelude::*,
    types::{PyMemoryView, PyType},
};
use std::ffi::CStr;

/// The cell for the state of a class with a hot method: the GIL guards it.
///
/// Law: nobody calls Python code, or releases the GIL, while it is borrowed.
#[cfg(not(Py_GIL_DISABLED))]
mod cell {
    use pyo3::Python;
    use std::cell::{RefCell, RefMut};

    pub struct GilCell<T>(RefCell<T>);
    pub type Borrowed<'a, T> = RefMut<'a, T>;

    // SAFETY: this is built for interpreters with a GIL only, and each method runs with the GIL
    // held, so that no two threads are in the cell at a time.
    unsafe impl<T: Send> Sync for GilCell<T> {}

    impl<T> GilCell<T> {
        pub fn new(value: T) -> Self {
            Self(RefCell::new(value))
        }

        pub fn borrow(&self, _: Python<'_>) -> Borrowed<'_, T> {
            self.0.borrow_mut()
        }

        /// `None` while it is borrowed: another thread's call is in between.
        pub fn try_borrow(&self) -> Option<Borrowed<'_, T>> {
            self.0.try_borrow_mut().ok()
        }
    }
}

/// The same where there is no GIL: a lock. By the law above it is held for short, and no thread
/// that has it waits for another.
#[cfg(Py_GIL_DISABLED)]
mod cell {
    use pyo3::Python;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    pub struct GilCell<T>(Mutex<T>);
    pub type Borrowed<'a, T> = MutexGuard<'a, T>;

    impl<T> GilCell<T> {
        pub fn new(value: T) -> Self {
            Self(Mutex::new(value))
        }

        pub fn borrow(&self, _: Python<'_>) -> Borrowed<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// `None` while it is borrowed: another thread has it.
        pub fn try_borrow(&self) -> Option<Borrowed<'_, T>> {
            self.0.try_lock().ok()
        }
    }
}

pub use cell::{Borrowed as BorrowedCell, GilCell};

/// A class with a method that takes one message, thousands of times a millisecond.
pub trait TakesMessages:
    pyo3::PyClass<Frozen = pyo3::pyclass::boolean_struct::True> + Sync
{
    /// Hold the message, if nothing else must be done; returns whether it was held.
    fn hold(&self, message: &[u8]) -> bool;
    /// Take a message that [`TakesMessages::hold`] did not.
    fn take(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> PyResult<()>;
}

/// Give class `T` the method `name`, as a C function of one argument (METH_O): a message that is
/// only held costs half of what it costs through the general call protocol.
///
/// The method returns None, or the message's length.
pub fn add_message_method<T: TakesMessages, const RETURNS_LENGTH: bool>(
    class: &Bound<'_, PyType>,
    name: &'static CStr,
    doc: &'static CStr,
) -> PyResult<()> {
    let definition = ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunction: take_message::<T, RETURNS_LENGTH>,
        },
        ml_flags: ffi::METH_O,
        ml_doc: doc.as_ptr(),
    };
    // The interpreter keeps the pointer as long as the class lives.
    let definition = Box::leak(Box::new(definition));
    // SAFETY: `class` is a type object and `definition` lives forever; the result is owned, or
    // null with an error set.
    let method = unsafe {
        Bound::from_owned_ptr_or_err(
            class.py(),
            ffi::PyDescr_NewMethod(class.as_type_ptr(), definition),
        )?
    };
    class.setattr(name.to_string_lossy().as_ref(), method)
}

unsafe extern "C" fn take_message<T: TakesMessages, const RETURNS_LENGTH: bool>(
    slf: *mut ffi::PyObject,
    data: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls with the GIL held, with an instance of `T`, for the method is
    // a descriptor of that class, and with one argument; both outlive the call. A `bytes` object
    // never changes.
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
                std::ptr::null_mut()
            }
        }
    })
}
