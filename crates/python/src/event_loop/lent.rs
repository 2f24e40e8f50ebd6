use pyo3::{PyTraverseError, PyVisit, intern, prelude::*};
use std::sync::atomic::{AtomicBool, Ordering};

/// The socket that the program gave for a connection. The program still has the socket, and may close
/// it while we hold messages that it sent before.
pub struct LentSocket {
    /// A `socket.socket`.
    socket: Py<PyAny>,
    keeps_open: AtomicBool,
}

impl LentSocket {
    pub fn new(socket: Py<PyAny>) -> Self {
        Self {
            socket,
            keeps_open: AtomicBool::new(false),
        }
    }

    /// Defer the program's `close()` until `let_close`, by means of the socket's count of the files that
    /// `makefile` made.
    pub fn keep_open(&self, py: Python<'_>) -> PyResult<()> {
        if self.keeps_open.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let (socket, name) = (self.socket.bind(py), intern!(py, "_io_refs"));
        let uses: usize = socket.getattr(name)?.extract()?;
        socket.setattr(name, uses + 1)
    }

    /// Close the socket now, if the program has closed it meanwhile.
    pub fn let_close(&self, py: Python<'_>) -> PyResult<()> {
        if !self.keeps_open.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        // What the socket's own `_decref_socketios` does, without a call of Python code.
        let (socket, name) = (self.socket.bind(py), intern!(py, "_io_refs"));
        let uses: usize = socket.getattr(name)?.extract()?;
        socket.setattr(name, uses.saturating_sub(1))?;
        if self.was_closed(py)? {
            socket.call_method0(intern!(py, "close"))?;
        }
        Ok(())
    }

    /// Whether the socket is closed; its descriptor's number may then be another file's.
    pub fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        if !self.was_closed(py)? {
            return Ok(false);
        }
        let fileno = intern!(py, "fileno");
        let fd: i32 = self.socket.bind(py).call_method0(fileno)?.extract()?;
        Ok(fd < 0)
    }

    /// Whether the program has called `close` or `detach`.
    fn was_closed(&self, py: Python<'_>) -> PyResult<bool> {
        let closed = self.socket.bind(py).getattr(intern!(py, "_closed"))?;
        closed.is_truthy()
    }

    /// For the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.socket)
    }
}
