//! Descriptors that come from Python.

use crate::errors::{OrOsError, os_error};
use pyo3::prelude::*;
use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd, RawFd},
};

/// A copy of a descriptor of the caller's, which the caller may close meanwhile.
pub fn own(fd: RawFd) -> PyResult<OwnedFd> {
    if fd < 0 {
        return Err(os_error(io::Error::from_raw_os_error(libc::EBADF)));
    }
    // SAFETY: the descriptor is only borrowed for this call; a closed one gives EBADF.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    borrowed.try_clone_to_owned().or_os_error()
}
