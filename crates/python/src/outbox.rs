use crate::{
    gil::{GilCell, TakesMessages},
    knobs::{Knobs, StatsParts, stats_parts},
    message::{forks, immutable, too_large},
    ticker::Ticker,
};
use pyo3::{PyTraverseError, PyVisit, exceptions::PyBufferError, prelude::*, types::PyBytes};
use std::os::fd::RawFd;
use tinygram_core::{Coalescer, Next, Reason};
use tinygram_net::{clock::monotonic_ns, process::thread_id, socket::send_now};

/// What an event loop's connection holds back.
#[pyclass(frozen, module = "tinygram._native")]
pub struct Outbox {
    pub state: GilCell<State>,
    /// The transport below: `write(bytes)`.
    write_below: Py<PyAny>,
    /// `on_full(was_refused)`: a message was held, refused or passed on, for the transport below is full.
    on_full: Py<PyAny>,
    /// Raises RuntimeError unless this thread may write.
    check_thread: Py<PyAny>,
    ticker: Py<Ticker>,
}

pub struct State {
    pub coalescer: Coalescer,
    /// Where the kernel takes bytes from us; `None`: the transport below takes them.
    fd: Option<RawFd>,
    pub is_armed: bool,
    /// Whether messages go straight to the transport below.
    is_diverted: bool,
    thread_id: usize,
    forks: u64,
}

#[pymethods]
impl Outbox {
    #[new]
    fn new(
        knobs: &Knobs,
        fd: Option<RawFd>,
        ticker: Py<Ticker>,
        write_below: Py<PyAny>,
        on_full: Py<PyAny>,
        check_thread: Py<PyAny>,
    ) -> Self {
        let state = State {
            coalescer: knobs.coalescer(),
            fd,
            is_armed: false,
            is_diverted: false,
            thread_id: thread_id(),
            forks: forks(),
        };
        Self {
            state: GilCell::new(state),
            write_below,
            on_full,
            check_thread,
            ticker,
        }
    }

    /// Write all that is held, through the transport below where the kernel does not take it.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.state.borrow(py).forget_after_fork();
        self.write_out(py, &[], Reason::Asked).map(drop)
    }

    /// From now on messages go straight to the transport below.
    fn divert(&self, py: Python<'_>) {
        self.state.borrow(py).is_diverted = true;
    }

    /// Hold messages again.
    fn undivert(&self, py: Python<'_>) {
        self.state.borrow(py).is_diverted = false;
    }

    /// The end: what is held is forgotten; how many bytes that was.
    fn discard(&self, py: Python<'_>) -> usize {
        let mut state = self.state.borrow(py);
        state.is_diverted = true;
        state.coalescer.discard()
    }

    /// The transport below has bytes of its own.
    fn on_blocked(&self, py: Python<'_>) {
        self.state.borrow(py).coalescer.on_blocked();
    }

    /// The transport below has none any more.
    fn on_writable(&self, py: Python<'_>) -> PyResult<()> {
        let has_more = self.state.borrow(py).coalescer.on_writable();
        if has_more {
            self.write_out(py, &[], Reason::Writable)?;
        }
        Ok(())
    }

    fn set_max_bytes(&self, py: Python<'_>, max_bytes: usize) {
        self.state.borrow(py).coalescer.set_max_bytes(max_bytes);
    }

    /// The calling thread is the one that may write.
    fn adopt_thread(&self, py: Python<'_>) {
        self.state.borrow(py).thread_id = thread_id();
    }

    #[getter]
    fn held_bytes(&self, py: Python<'_>) -> usize {
        let mut state = self.state.borrow(py);
        state.forget_after_fork();
        state.coalescer.pending().len()
    }

    fn stats_parts(&self, py: Python<'_>) -> StatsParts {
        stats_parts(self.state.borrow(py).coalescer.stats())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.write_below)?;
        visit.call(&self.on_full)?;
        visit.call(&self.check_thread)?;
        visit.call(&self.ticker)
    }
}

impl TakesMessages for Outbox {
    fn hold(&self, message: &[u8]) -> bool {
        self.state.try_borrow().is_some_and(|mut state| {
            !state.is_unusual() && state.coalescer.hold_with_others(message)
        })
    }

    fn take(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        if this.state.borrow(py).is_unusual() {
            return Self::take_unusual(slf, data);
        }
        let data = immutable(data)?;
        let message = data.as_bytes();
        if message.is_empty() {
            return Ok(());
        }
        let next = this
            .state
            .borrow(py)
            .coalescer
            .on_message(message, monotonic_ns);
        match next {
            Next::Wait if this.state.borrow(py).coalescer.is_blocked() => {
                this.on_full.call1(py, (false,)).map(drop)
            }
            Next::Wait => Ok(()),
            Next::Arm => {
                let was_armed = std::mem::replace(&mut this.state.borrow(py).is_armed, true);
                if was_armed {
                    return Ok(());
                }
                Ticker::arm(this.ticker.bind(py), slf.clone().unbind())
            }
            Next::Write(reason) => this.write_out(py, message, reason).map(drop),
            Next::WriteFirst => {
                this.write_out(py, &[], Reason::Full)?;
                Self::take(slf, &data)
            }
            Next::Refuse => Err(this.refuse(py, message.len())?),
        }
    }
}

impl Outbox {
    /// Write what is held and then `message`. Whether the transport below, and so Python code,
    /// had to take a part.
    pub fn write_out(&self, py: Python<'_>, message: &[u8], reason: Reason) -> PyResult<bool> {
        let below = self.state.borrow(py).write_out(message, reason);
        if below.is_empty() {
            return Ok(false);
        }
        self.write_below.call1(py, (PyBytes::new(py, &below),))?;
        Ok(true)
    }

    /// The error that says so; the protocol is paused until there is room.
    #[cold]
    fn refuse(&self, py: Python<'_>, message_bytes: usize) -> PyResult<PyErr> {
        let (held_bytes, is_blocked) = {
            let coalescer = &self.state.borrow(py).coalescer;
            (coalescer.pending().len(), coalescer.is_blocked())
        };
        if is_blocked {
            self.on_full.call1(py, (true,))?;
        }
        Ok(PyBufferError::new_err(if held_bytes == 0 {
            too_large(message_bytes)
        } else {
            format!(
                "{held_bytes} bytes are held and {message_bytes} more would exceed \
                 max_buffered_bytes; wait for resume_writing, or drain()"
            )
        }))
    }

    #[cold]
    fn take_unusual(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        this.state.borrow(py).forget_after_fork();
        if this.state.borrow(py).thread_id != thread_id() {
            this.check_thread.call0(py)?;
        }
        if this.state.borrow(py).is_diverted {
            this.write_below.call1(py, (data,))?;
            return this.on_full.call1(py, (false,)).map(drop);
        }
        Self::take(slf, data)
    }
}

impl State {
    pub fn forget_after_fork(&mut self) {
        if self.forks != forks() {
            self.forks = forks();
            self.coalescer.discard();
        }
    }

    fn is_unusual(&self) -> bool {
        self.is_diverted || self.thread_id != thread_id() || self.forks != forks()
    }

    /// Write what the kernel takes; the rest is for the transport below.
    fn write_out(&mut self, message: &[u8], reason: Reason) -> Vec<u8> {
        if message.is_empty() && self.coalescer.pending().is_empty() {
            return Vec::new();
        }
        let start_ns = monotonic_ns();
        let mut rest = message;
        if let Some(fd) = self.fd
            && !self.coalescer.is_blocked()
            && !self.is_diverted
            // The transport below meets the same error, and tells the protocol of it.
            && let Ok(taken) = send_now(fd, self.coalescer.pending(), rest)
        {
            self.coalescer
                .on_written(taken, rest, reason, start_ns, monotonic_ns());
            rest = &[];
        }
        let below = [self.coalescer.pending(), rest].concat();
        if !below.is_empty() {
            self.coalescer
                .on_written(below.len(), rest, reason, start_ns, monotonic_ns());
        }
        below
    }
}
