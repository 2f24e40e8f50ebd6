use crate::lent::LentSocket;
use pyo3::{PyTraverseError, PyVisit, prelude::*};

/// What an outbox asks and tells: its transport, the one below, the loop, and the program's socket.
pub struct Surroundings {
    /// The transport below: `write(bytes)`.
    pub write_below: Py<PyAny>,
    /// `on_full(was_refused)`: a message was held, refused or passed on, for the transport below is full.
    pub on_full: Py<PyAny>,
    /// Raises RuntimeError unless this thread may write.
    pub check_thread: Py<PyAny>,
    /// Whether the event loop is closed, and may have closed the descriptor without a word.
    pub is_loop_closed: Option<Py<PyAny>>,
    /// The socket that the program gave, and may close under us.
    pub lent: Option<LentSocket>,
}

impl Surroundings {
    /// See `is_loop_closed`.
    pub fn is_loop_closed(&self, py: Python<'_>) -> PyResult<bool> {
        match &self.is_loop_closed {
            Some(ask) => ask.bind(py).call0()?.is_truthy(),
            None => Ok(false),
        }
    }

    /// Whether the program has closed the socket that it gave.
    pub fn is_socket_closed(&self, py: Python<'_>) -> PyResult<bool> {
        self.lent.as_ref().map_or(Ok(false), |it| it.is_closed(py))
    }

    /// For the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.write_below)?;
        visit.call(&self.on_full)?;
        visit.call(&self.check_thread)?;
        visit.call(&self.is_loop_closed)?;
        self.lent.iter().try_for_each(|lent| lent.traverse(visit))
    }
}
