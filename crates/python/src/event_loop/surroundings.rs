use super::{lent::LentSocket, tls::StraightTls};
use pyo3::{PyTraverseError, PyVisit, intern, prelude::*};

/// The objects that an outbox calls: its transport, the one below, the loop, the program's socket.
///
/// Their methods are looked up at each call, which is seldom: kept, each method would be an object of
/// 64 bytes for every connection.
pub struct Surroundings {
    /// The transport below: `write(bytes)`.
    pub below: Py<PyAny>,
    /// Our transport: `_check_high(was_refused)`, `_check_thread()`.
    pub transport: Py<PyAny>,
    /// The event loop, if it closes the descriptor without notice when it is closed itself.
    pub closing_loop: Option<Py<PyAny>>,
    /// The socket that the program gave, and may close under us.
    pub lent: Option<LentSocket>,
}

impl Surroundings {
    /// Write `data` to the transport below.
    pub fn write_below(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let below = self.below.bind(py);
        if let Ok(tls) = below.cast_exact::<StraightTls>() {
            return tls.get().write(data);
        }
        below.call_method1(intern!(py, "write"), (data,)).map(drop)
    }

    /// Report that a message was held, refused or passed on because the transport below is full.
    pub fn on_full(&self, py: Python<'_>, was_refused: bool) -> PyResult<()> {
        self.transport
            .bind(py)
            .call_method1(intern!(py, "_check_high"), (was_refused,))
            .map(drop)
    }

    /// Raises RuntimeError unless this thread may write.
    pub fn check_thread(&self, py: Python<'_>) -> PyResult<()> {
        self.transport
            .bind(py)
            .call_method0(intern!(py, "_check_thread"))
            .map(drop)
    }

    /// Whether the loop may have closed the descriptor.
    pub fn is_loop_closed(&self, py: Python<'_>) -> PyResult<bool> {
        match &self.closing_loop {
            Some(event_loop) => event_loop
                .bind(py)
                .call_method0(intern!(py, "is_closed"))?
                .is_truthy(),
            None => Ok(false),
        }
    }

    /// Whether the program has closed the socket that it gave.
    pub fn is_socket_closed(&self, py: Python<'_>) -> PyResult<bool> {
        self.lent.as_ref().map_or(Ok(false), |it| it.is_closed(py))
    }

    /// For the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.below)?;
        visit.call(&self.transport)?;
        visit.call(&self.closing_loop)?;
        self.lent.iter().try_for_each(|lent| lent.traverse(visit))
    }
}
