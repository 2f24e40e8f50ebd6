use crate::{address::ip_of, descriptor, errors::OrOsError};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::{
    os::fd::{BorrowedFd, RawFd},
    time::Duration,
};
use tinygram_load::socket::admission::{self, TOKEN_BYTES, Token};

#[pyclass(module = "tinygram_bench._native", frozen)]
pub struct Admission {
    inner: admission::Admission,
}

/// The marks of a client's connections; if Python gives none, any connection is admitted.
pub fn of(known: Option<&Bound<'_, Admission>>) -> admission::Admission {
    known.map_or_else(Default::default, |known| known.get().inner)
}

#[pymethods]
impl Admission {
    #[classattr]
    const ADMITTED: [u8; 1] = [admission::ADMITTED];

    #[new]
    #[pyo3(signature = (host=None, token=None))]
    fn new(host: Option<&str>, token: Option<&[u8]>) -> PyResult<Self> {
        let told = || PyValueError::new_err(format!("a token has {TOKEN_BYTES} bytes"));
        let token = token.map(|bytes| <[u8; TOKEN_BYTES]>::try_from(bytes).map_err(|_| told()));
        Ok(Self {
            inner: admission::Admission {
                host: host.map(ip_of).transpose()?,
                token: token.transpose()?.map(Token::from),
            },
        })
    }

    fn guard(&self, fd: RawFd) -> PyResult<()> {
        self.inner.guard(descriptor::own(fd)?).or_os_error()
    }

    #[pyo3(signature = (fd, peer))]
    fn admit(&self, fd: RawFd, peer: Option<&str>) -> bool {
        let Some(peer) = peer.and_then(|peer| peer.parse().ok()) else {
            // The connection has ended already.
            return self.inner.host.is_none() && self.inner.token.is_none();
        };
        if fd < 0 {
            return false;
        }
        // SAFETY: the descriptor is only borrowed for this call; a closed one gives EBADF.
        let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
        self.inner.admit(borrowed, peer)
    }

    fn introduce(&self, py: Python<'_>, fd: RawFd, timeout_ns: u64) -> PyResult<()> {
        if self.inner.token.is_none() {
            return Ok(());
        }
        let own = descriptor::own(fd)?;
        py.detach(|| self.inner.introduce(own, Duration::from_nanos(timeout_ns)))
            .or_os_error()
    }
}
