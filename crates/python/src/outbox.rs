use crate::{
    gil::{BorrowedCell, GilCell, TakesMessages},
    knobs::{Knobs, StatsParts, stats_parts},
    message::{immutable, too_large},
    ticker::Ticker,
};
use pyo3::{PyTraverseError, PyVisit, exceptions::PyBufferError, prelude::*, types::PyBytes};
use std::{os::fd::RawFd, sync::Arc};
use tinygram_core::{Coalescer, Next, Reason};
use tinygram_net::{
    clock::monotonic_ns,
    process::{forks, thread_id},
    socket::send_now,
};

/// What an event loop's connection holds back.
#[pyclass(frozen, module = "tinygram._native")]
pub struct Outbox {
    state: GilCell<State>,
    /// None once the connection is gone.
    transport: GilCell<Option<Arc<Callbacks>>>,
    ticker: Py<Ticker>,
}

/// What the transport, which we belong to, is asked and told.
struct Callbacks {
    /// The transport below: `write(bytes)`.
    write_below: Py<PyAny>,
    /// `on_full(was_refused)`: a message was held, refused or passed on, for the transport below is full.
    on_full: Py<PyAny>,
    /// Raises RuntimeError unless this thread may write.
    check_thread: Py<PyAny>,
    /// Whether the event loop is closed, and may have closed the descriptor without a word.
    is_loop_closed: Option<Py<PyAny>>,
}

pub struct State {
    pub coalescer: Coalescer,
    /// Where the kernel takes bytes from us; `None`: the transport below takes them.
    fd: Option<RawFd>,
    pub is_armed: bool,
    /// Whether messages go straight to the transport below.
    is_diverted: bool,
    /// Whether the transport below has bytes of its own.
    is_below_full: bool,
    /// The first error that the kernel told us, which the transport below can no longer learn.
    errno: Option<i32>,
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
        is_loop_closed: Option<Py<PyAny>>,
    ) -> Self {
        let state = State {
            coalescer: if ticker.get().tells_rests() {
                knobs.coalescer_of_resting_loop()
            } else {
                knobs.coalescer_of_foreign_loop()
            },
            fd,
            is_armed: false,
            is_diverted: false,
            is_below_full: false,
            errno: None,
            thread_id: thread_id(),
            forks: forks(),
        };
        let transport = Callbacks {
            write_below,
            on_full,
            check_thread,
            is_loop_closed,
        };
        Self {
            state: GilCell::new(state),
            transport: GilCell::new(Some(Arc::new(transport))),
            ticker,
        }
    }

    /// Write all that is held, through the transport below where the kernel does not take it.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.write_out(py, &[], Reason::Asked).map(drop)
    }

    /// The connection ends: hand the kernel what it still takes, unless other bytes come first.
    fn flush_last(&self, py: Python<'_>) -> PyResult<()> {
        if !self.is_loop_closed(py)? {
            let mut state = self.state(py);
            state.is_diverted = false;
            state.write_now(&[], Reason::Asked);
        }
        Ok(())
    }

    /// The connection is gone: the transport is let go.
    fn release(&self, py: Python<'_>) {
        let transport = self.transport.borrow(py).take();
        // What is dropped may call Python code.
        drop(transport);
    }

    /// The first error that a write met, as errno.
    #[getter]
    fn errno(&self, py: Python<'_>) -> Option<i32> {
        self.state(py).errno
    }

    /// From now on messages go straight to the transport below.
    fn divert(&self, py: Python<'_>) {
        self.state(py).is_diverted = true;
    }

    /// Hold messages again.
    fn undivert(&self, py: Python<'_>) {
        self.state(py).is_diverted = false;
    }

    /// The end: what is held is forgotten; how many bytes that was.
    fn discard(&self, py: Python<'_>) -> usize {
        let mut state = self.state(py);
        state.is_diverted = true;
        state.coalescer.discard()
    }

    /// The transport below has bytes of its own.
    fn on_blocked(&self, py: Python<'_>) {
        let mut state = self.state(py);
        state.is_below_full = true;
        state.coalescer.on_blocked();
    }

    /// The transport below has none any more.
    fn on_writable(&self, py: Python<'_>) -> PyResult<()> {
        let has_more = {
            let mut state = self.state(py);
            state.is_below_full = false;
            state.coalescer.on_writable()
        };
        if has_more {
            self.write_out(py, &[], Reason::Writable)?;
        }
        Ok(())
    }

    fn set_max_bytes(&self, py: Python<'_>, max_bytes: usize) {
        self.state(py).coalescer.set_max_bytes(max_bytes);
    }

    /// The calling thread is the one that may write.
    fn adopt_thread(&self, py: Python<'_>) {
        self.state(py).thread_id = thread_id();
    }

    #[getter]
    fn held_bytes(&self, py: Python<'_>) -> usize {
        self.state(py).coalescer.pending().len()
    }

    /// What `stats` is made of.
    #[pyo3(name = "_stats_parts")]
    fn stats_parts(&self, py: Python<'_>) -> StatsParts {
        stats_parts(self.state(py).coalescer.stats())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(Some(transport)) = self.transport.try_borrow().as_deref() {
            visit.call(&transport.write_below)?;
            visit.call(&transport.on_full)?;
            visit.call(&transport.check_thread)?;
            visit.call(&transport.is_loop_closed)?;
        }
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
        if this.state(py).is_unusual() {
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
            Next::Wait if this.state(py).coalescer.is_blocked() => this.tell_full(py, false),
            Next::Wait => Ok(()),
            Next::Arm => {
                let was_armed = std::mem::replace(&mut this.state(py).is_armed, true);
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
    /// The state, without what a parent process holds.
    pub fn state(&self, py: Python<'_>) -> BorrowedCell<'_, State> {
        let mut state = self.state.borrow(py);
        state.forget_after_fork();
        state
    }

    fn transport(&self, py: Python<'_>) -> Option<Arc<Callbacks>> {
        self.transport.borrow(py).clone()
    }

    fn tell_full(&self, py: Python<'_>, was_refused: bool) -> PyResult<()> {
        match self.transport(py) {
            Some(transport) => transport.on_full.call1(py, (was_refused,)).map(drop),
            None => Ok(()),
        }
    }

    fn is_loop_closed(&self, py: Python<'_>) -> PyResult<bool> {
        match self.transport(py).as_deref().map(|it| &it.is_loop_closed) {
            Some(Some(ask)) => ask.bind(py).call0()?.is_truthy(),
            _ => Ok(false),
        }
    }

    /// Write what is held and then `message`. Whether the transport below, and so Python code,
    /// had to take a part.
    pub fn write_out(&self, py: Python<'_>, message: &[u8], reason: Reason) -> PyResult<bool> {
        if self.is_loop_closed(py)? {
            // What is held stays so, and whoever drops it says so.
            return match message {
                [] => Ok(false),
                _ => self.write_below(py, message).map(|()| true),
            };
        }
        let mut below = self.state(py).write_out(message, reason);
        let took_part = !below.is_empty();
        while !below.is_empty() {
            self.write_below(py, &below)?;
            // Whoever wrote meanwhile comes after it.
            let mut state = self.state(py);
            below = if !state.is_below_full && state.coalescer.on_writable() {
                state.write_out(&[], Reason::Writable)
            } else {
                Vec::new()
            };
        }
        Ok(took_part)
    }

    /// Until it has returned, everything is held.
    fn write_below(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        let Some(transport) = self.transport(py) else {
            return Ok(());
        };
        self.state(py).coalescer.on_blocked();
        let written = transport.write_below.call1(py, (PyBytes::new(py, bytes),));
        let mut state = self.state(py);
        if written.is_err() && !state.is_below_full {
            state.coalescer.on_writable();
        }
        written.map(drop)
    }

    /// The error that says so; the protocol is paused until there is room.
    #[cold]
    fn refuse(&self, py: Python<'_>, message_bytes: usize) -> PyResult<PyErr> {
        let (held_bytes, is_blocked) = {
            let coalescer = &self.state(py).coalescer;
            (coalescer.pending().len(), coalescer.is_blocked())
        };
        if is_blocked {
            self.tell_full(py, true)?;
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
        let data = immutable(data)?;
        let Some(transport) = this.transport(py) else {
            return Ok(()); // As asyncio: the protocol was told that the connection is gone.
        };
        if this.state(py).thread_id != thread_id() {
            transport.check_thread.call0(py)?;
        }
        if this.state(py).is_diverted {
            transport.write_below.call1(py, (data,))?;
            return this.tell_full(py, false);
        }
        Self::take(slf, &data)
    }
}

impl State {
    fn forget_after_fork(&mut self) {
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
        let rest = self.write_now(message, reason);
        let below = [self.coalescer.pending(), rest].concat();
        if !below.is_empty() {
            let now_ns = monotonic_ns();
            self.coalescer
                .on_written(below.len(), rest, reason, now_ns, now_ns);
        }
        below
    }

    /// Write what the kernel takes, if it is our turn. What is left of `message` is held; it is
    /// given back where nothing was written.
    fn write_now<'a>(&mut self, message: &'a [u8], reason: Reason) -> &'a [u8] {
        let Some(fd) = self.fd else { return message };
        let is_empty = message.is_empty() && self.coalescer.pending().is_empty();
        if is_empty || self.coalescer.is_blocked() || self.is_diverted {
            return message;
        }
        let start_ns = monotonic_ns();
        match send_now(fd, self.coalescer.pending(), message) {
            Ok(taken) => {
                self.coalescer
                    .on_written(taken, message, reason, start_ns, monotonic_ns());
                &[]
            }
            Err(error) => {
                // The transport below will meet an error too, and tell the protocol of it.
                self.errno = self.errno.or(error.raw_os_error());
                message
            }
        }
    }
}
