//! Errors of the kernel become OSError as Python itself raises it: with `errno`, and of the subclass
//! that goes with it. pyo3's own conversion leaves `errno` out.

use pyo3::{
    exceptions::{PyOSError, PyValueError},
    prelude::*,
};
use std::{io, net::Ipv4Addr};

pub fn os_error(error: io::Error) -> PyErr {
    let Some(errno) = error.raw_os_error() else {
        return error.into();
    };
    let text = error.to_string();
    let text = text
        .strip_suffix(&format!(" (os error {errno})"))
        .unwrap_or(&text);
    // OSError called with both chooses its subclass.
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

/// An address, as Python tells it.
pub fn ipv4_of(host: &str) -> PyResult<Ipv4Addr> {
    host.parse()
        .map_err(|_| PyValueError::new_err(format!("{host:?} is no IPv4 address")))
}
