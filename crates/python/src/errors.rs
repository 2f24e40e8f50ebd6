//! Errors of the kernel become OSError as Python itself raises it: with `errno`, and of the subclass
//! that belongs to it. PyO3's own conversion leaves `errno` out.

use pyo3::{exceptions::PyOSError, prelude::*};
use std::io;

pub fn os_error(error: io::Error) -> PyErr {
    let Some(errno) = error.raw_os_error() else {
        return error.into();
    };
    let text = error.to_string();
    let text = text
        .strip_suffix(&format!(" (os error {errno})"))
        .unwrap_or(&text);
    // OSError chooses its subclass when called with both.
    PyOSError::new_err((errno, text.to_owned()))
}

pub trait OrOsError<T> {
    fn or_os_error(self) -> PyResult<T>;
}

impl<T> OrOsError<T> for io::Result<T> {
    fn or_os_error(self) -> PyResult<T> {
        self.map_err(os_error)
    }
}
