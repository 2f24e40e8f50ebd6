use pyo3::{PyTraverseError, PyVisit, intern, prelude::*};
use std::sync::atomic::{AtomicBool, Ordering};

/// The socket that a program has made a connection of. The program keeps it, and may close it while
/// we hold what was written before.
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

    /// From now on the program's `close()` takes effect at `let_close` only, as with the files of
    /// `makefile`; what it counts there is counted here.
    pub fn keep_open(&self, py: Python<'_>) -> PyResult<()> {
        if self.keeps_open.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let (socket, name) = (self.socket.bind(py), intern!(py, "_io_refs"));
        let uses: usize = socket.getattr(name)?.extract()?;
        socket.setattr(name, uses + 1)
    }

    /// What the program has closed meanwhile is closed now.
    pub fn let_close(&self, py: Python<'_>) -> PyResult<()> {
        if !self.keeps_open.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let let_go = intern!(py, "_decref_socketios");
        self.socket.bind(py).call_method0(let_go).map(drop)
    }

    /// Whether it has no descriptor any more, whose number may be another file's by now.
    pub fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        let fileno = intern!(py, "fileno");
        let fd: i32 = self.socket.bind(py).call_method0(fileno)?.extract()?;
        Ok(fd < 0)
    }

    /// For the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.socket)
    }
}
