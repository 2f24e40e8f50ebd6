use pyo3::{prelude::*, types::PyBytes};
use std::{io, os::fd::RawFd};
use tinygram_load::echo::client::{EncryptedConnection, Sent};

/// A connection that Python's ssl module encrypts: `workloads/echo/encrypted.py`.
#[derive(Debug)]
struct OfPython {
    inner: Py<PyAny>,
}

impl EncryptedConnection for OfPython {
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        Python::attach(|py| {
            let sent =
                self.inner
                    .call_method1(py, pyo3::intern!(py, "send"), (PyBytes::new(py, bytes),));
            let (taken, encrypted) = sent?.extract(py)?;
            Ok(Sent { taken, encrypted })
        })
        .map_err(failed)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        Python::attach(|py| {
            let most = (buffer.len(),);
            let read = self
                .inner
                .call_method1(py, pyo3::intern!(py, "receive"), most)?;
            let Some(found) = read.extract::<Option<Bound<'_, PyBytes>>>(py)? else {
                return Ok(None);
            };
            let bytes = found.as_bytes();
            buffer[..bytes.len()].copy_from_slice(bytes);
            Ok(Some(bytes.len()))
        })
        .map_err(failed)
    }
}

/// Encrypt the connection of a descriptor: the object that `encrypt` returns sends and receives.
pub fn encrypted(encrypt: &Py<PyAny>, fd: RawFd) -> io::Result<Box<dyn EncryptedConnection>> {
    let inner = Python::attach(|py| encrypt.call1(py, (fd,))).map_err(failed)?;
    Ok(Box::new(OfPython { inner }))
}

fn failed(error: PyErr) -> io::Error {
    io::Error::other(error.to_string())
}
