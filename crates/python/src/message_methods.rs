//! Methods that take messages, and cost no more than a C function of one argument (METH_O).

use pyo3::{
    exceptions::PySystemError,
    ffi, intern,
    prelude::*,
    pyclass::boolean_struct::True,
    types::{PyBytes, PyMemoryView, PyTuple, PyType},
};
use std::{
    ffi::CStr,
    hint::assert_unchecked,
    ptr, slice,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Methods for which PyO3 has no attribute; each is made by [`message_method`].
pub type Methods = &'static [ffi::PyMethodDef];

/// A class with methods that take one message, thousands of times a millisecond.
pub trait TakesMessages: pyo3::PyClass<Frozen = True> + Sync {
    const METHODS: Methods;

    /// Hold the message, if nothing else must be done; returns whether it was held.
    fn hold(&self, message: &[u8]) -> bool;
    /// Take a message that [`TakesMessages::hold`] did not; an error says whether it was taken.
    fn take_one(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> Result<(), Fault>;
    /// Take the first of many messages, as many as neither wait nor need Python code; the next one is for
    /// [`TakesMessages::take_one`]. Returns how many were taken.
    fn take_plain<'a>(
        slf: &Bound<'_, Self>,
        messages: impl Iterator<Item = &'a [u8]>,
    ) -> (usize, PyResult<()>);

    /// Like [`TakesMessages::take_one`], for a caller that has a single message.
    fn take(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::take_one(slf, data).map_err(|fault| fault.error)
    }
}

/// A method of `T` that takes one message, and returns None or the message's length: a message that is
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
/// Inherited methods would do the same. But since CPython 3.11 `object.send(message)` is a short call
/// only if the method's class is exactly the object's: the interpreter compares the two.
///
/// Returns false when `class` is no such class.
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
    // SAFETY: the interpreter calls this with the GIL held and with one argument. `slf` is an instance
    // of `T`, for the method is a descriptor of that class or of a subclass, and checks it; both objects
    // outlive the call.
    unsafe {
        let py = Python::assume_attached();
        assert_unchecked(!slf.is_null());
        if let Some(message) = exact_bytes(data) {
            let this = Borrowed::from_ptr(py, slf).cast_unchecked::<T>();
            if this.get().hold(message) {
                return if RETURNS_LENGTH {
                    ffi::PyLong_FromSsize_t(message.len() as ffi::Py_ssize_t)
                } else {
                    ffi::Py_NewRef(ffi::Py_None())
                };
            }
        }
        take_message_slowly::<T, RETURNS_LENGTH>(slf, data)
    }
}

#[cold]
unsafe extern "C" fn take_message_slowly<T: TakesMessages, const RETURNS_LENGTH: bool>(
    slf: *mut ffi::PyObject,
    data: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as in `take_message`. PyO3's own `attach` would ask for the GIL that is held, in a hundred and
    // seventy instructions; without it, PyO3 drops a `Py` that is given up here when it is called next. A
    // program that only sends may never call it, so what does not raise gives up `Bound`s only.
    let (py, slf, data) = unsafe {
        let py = Python::assume_attached();
        (
            py,
            Borrowed::from_ptr(py, slf).cast_unchecked::<T>(),
            Borrowed::from_ptr(py, data),
        )
    };
    let taken = T::take(&slf, &data).and_then(|()| {
        if RETURNS_LENGTH {
            length(&data)
        } else {
            Ok(py.None().into_bound(py))
        }
    });
    match taken {
        Ok(result) => result.into_ptr(),
        Err(error) => {
            error.restore(py);
            // Errors are made of references, which are given up by now: to attach drops them. PyO3 does not
            // attach while Python ends, and `attach` would panic then.
            let _ = Python::try_attach(|_| ());
            ptr::null_mut()
        }
    }
}

/// The length of a message in bytes; for `bytes`, without a `memoryview` that is made only for that.
fn length<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match data.cast_exact::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes().len().into_pyobject(data.py())?.into_any()),
        Err(_) => PyMemoryView::from(data)?.getattr(intern!(data.py(), "nbytes")),
    }
}

/// The offset of a `bytes` object's content from the object's address, in bytes: the same for all of
/// them, and found when the module is imported, to save a call of `PyBytes_AsString` for each message.
static CONTENT_AT: AtomicUsize = AtomicUsize::new(0);

/// Find where `bytes` objects have their content; call this before any message is taken.
///
/// # Errors
/// SystemError if the content is not at the same offset in all of them.
pub fn find_content(py: Python<'_>) -> PyResult<()> {
    let [at, other] = [&b""[..], &[1; 1_000]].map(|content| {
        let bytes = PyBytes::new(py, content);
        (bytes.as_bytes().as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize)
    });
    if at != other {
        let text = "this interpreter's bytes objects are not known to tinygram";
        return Err(PySystemError::new_err(text));
    }
    CONTENT_AT.store(at, Ordering::Relaxed);
    Ok(())
}

/// The content of a `bytes` object; `None`: the object is of another class, or of a subclass.
///
/// # Safety
/// `data` is an object, which outlives the slice; the GIL is held, and `find_content` was called.
unsafe fn exact_bytes<'a>(data: *mut ffi::PyObject) -> Option<&'a [u8]> {
    // SAFETY: see above. A `bytes` object never changes, and its content is at the offset that was found.
    unsafe {
        if ffi::PyBytes_CheckExact(data) == 0 {
            return None;
        }
        let start = data.cast::<u8>().add(CONTENT_AT.load(Ordering::Relaxed));
        Some(slice::from_raw_parts(start, ffi::Py_SIZE(data) as usize))
    }
}

/// The error of a message that was not sent; the message may have been taken nevertheless, and is then
/// held.
pub struct Fault {
    pub error: PyErr,
    pub was_taken: bool,
}

impl Fault {
    pub fn after_taking(error: PyErr) -> Self {
        Self {
            error,
            was_taken: true,
        }
    }
}

/// An error before the message was taken.
impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Self {
            error,
            was_taken: false,
        }
    }
}

/// Take each of the messages in turn, with one borrow of the state for as many as possible.
///
/// Raises what a single message raises; the exception's attribute `taken_messages` says how many were
/// taken.
pub fn take_many<T: TakesMessages>(
    slf: &Bound<'_, T>,
    messages: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = slf.py();
    // A tuple of our own, which nobody changes: a message that is not `bytes` may run Python code, which
    // could change the list that it is in.
    // SAFETY: `messages` is an object; the result is an owned tuple, or null with an error set.
    let messages = unsafe {
        let made = ffi::PySequence_Tuple(messages.as_ptr());
        Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked::<PyTuple>()
    };
    let mut taken = 0;
    while taken < messages.len() {
        let (more, sent) = T::take_plain(slf, plain_from(&messages, taken));
        taken += more;
        sent.map_err(|error| telling(py, error, taken))?;
        if taken < messages.len() {
            let one = messages.get_borrowed_item(taken)?;
            T::take_one(slf, &one)
                .map_err(|it| telling(py, it.error, taken + usize::from(it.was_taken)))?;
            taken += 1;
        }
    }
    Ok(())
}

/// The messages from `first` on, up to one that is not exactly `bytes`.
fn plain_from<'a>(
    messages: &'a Bound<'_, PyTuple>,
    first: usize,
) -> impl Iterator<Item = &'a [u8]> + 'a {
    (first..messages.len()).map_while(move |index| {
        // SAFETY: the index is within the tuple, which keeps the item as long as it lives.
        unsafe {
            let item = ffi::PyTuple_GetItem(messages.as_ptr(), index as ffi::Py_ssize_t);
            exact_bytes(item)
        }
    })
}

fn telling(py: Python<'_>, error: PyErr, taken: usize) -> PyErr {
    // An exception that takes no attribute is raised as it is.
    let _ = error
        .value(py)
        .setattr(intern!(py, "taken_messages"), taken);
    error
}
