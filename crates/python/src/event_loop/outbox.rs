mod state;
mod taking;
mod writing;

use super::{
    lent::LentSocket,
    surroundings::Surroundings,
    ticker::{AfterTick, Tick, Ticked, Ticker},
};
use crate::{
    gil::{BorrowedCell, GilCell},
    knobs::{Knobs, StatsParts, stats_parts},
    message::too_large,
    message_methods::take_many,
};
use pyo3::{PyTraverseError, PyVisit, exceptions::PyBufferError, prelude::*};
use state::{State, WaitsFor};
use std::{os::fd::RawFd, sync::Arc};
use tinygram_core::Reason;
use tinygram_net::process::{Caller, Generation};

/// The messages that a connection of an event loop holds back.
#[pyclass(frozen, module = "tinygram._native")]
pub struct Outbox {
    state: GilCell<State>,
    /// None once the connection is gone.
    around: GilCell<Option<Arc<Surroundings>>>,
    /// Whether the program gave the socket, and may close it.
    is_lent: bool,
    ticker: Py<Ticker>,
}

#[pymethods]
impl Outbox {
    #[new]
    #[allow(clippy::too_many_arguments)] // It connects that many objects.
    fn new(
        knobs: &Knobs,
        fd: Option<RawFd>,
        ticker: Py<Ticker>,
        below: Py<PyAny>,
        transport: Py<PyAny>,
        closing_loop: Option<Py<PyAny>>,
        lent_socket: Option<Py<PyAny>>,
    ) -> Self {
        let mut coalescer = if ticker.get().tells_rests() {
            knobs.coalescer_of_resting_loop()
        } else {
            knobs.coalescer_of_foreign_loop()
        };
        coalescer.set_queue_behind();
        let state = State {
            coalescer,
            fd,
            waits_for: WaitsFor::Nothing,
            is_diverted: false,
            is_below_full: false,
            is_handing_over: false,
            errno: None,
            generation: Generation::current(),
            caller: Caller::current(),
            made_in: Generation::current(),
        };
        let around = Surroundings {
            below,
            transport,
            closing_loop,
            lent: lent_socket.map(LentSocket::new),
        };
        Self {
            state: GilCell::new(state),
            is_lent: around.lent.is_some(),
            around: GilCell::new(Some(Arc::new(around))),
            ticker,
        }
    }

    /// Send each of the messages, in order, as `write` does; see `Batch.send_many`.
    #[pyo3(signature = (messages, /))]
    fn send_many(slf: &Bound<'_, Self>, messages: &Bound<'_, PyAny>) -> PyResult<()> {
        take_many(slf, messages)
    }

    /// Write all that is held, through the transport below if the kernel does not take it.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let is_closed = self.is_loop_closed(py)?;
        self.write_out(py, None, Reason::Asked, is_closed).map(drop)
    }

    /// From now on messages go straight to the transport below; what is held goes first, unless the
    /// transport is closing and takes nothing.
    fn hand_over(&self, py: Python<'_>, is_closing: bool) -> PyResult<()> {
        if !is_closing {
            self.flush(py)?;
        }
        self.state(py).divert();
        Ok(())
    }

    /// The connection ends: forget what is held; returns how many bytes were held. If `writes_last`,
    /// first write what the kernel still takes, unless the transport below has bytes of its own.
    fn end(&self, py: Python<'_>, writes_last: bool) -> PyResult<usize> {
        if writes_last && !self.state(py).coalescer.pending().is_empty() {
            if let Some(around) = self.around(py) {
                if !around.is_loop_closed(py)? && !around.is_socket_closed(py)? {
                    let mut state = self.state(py);
                    state.is_diverted = false;
                    state.write_now(&[], Reason::Asked);
                }
            }
        }
        self.discard(py)
    }

    /// Whether a parent process made this outbox: then the parent sends what is held.
    #[getter]
    fn is_a_parents(&self, py: Python<'_>) -> bool {
        self.state.borrow(py).made_in.is_past()
    }

    /// The connection is gone: drop the references to the objects around it.
    fn release(&self, py: Python<'_>) {
        let around = self.around.borrow(py).take();
        // Dropping them may call Python code.
        drop(around);
    }

    /// The first error that a write met, as errno.
    #[getter]
    fn errno(&self, py: Python<'_>) -> Option<i32> {
        self.state(py).errno
    }

    /// Hold messages again.
    fn undivert(&self, py: Python<'_>) {
        self.state(py).is_diverted = false;
    }

    /// Forget what is held, and hold no more; returns how many bytes were held.
    fn discard(&self, py: Python<'_>) -> PyResult<usize> {
        let held_bytes = {
            let mut state = self.state(py);
            state.divert();
            state.coalescer.discard()
        };
        self.let_close(py)?;
        Ok(held_bytes)
    }

    /// The transport below has bytes of its own. Returns whether the caller must report that it is
    /// full: while bytes are being handed over, `write_below` does so when it has finished.
    fn on_blocked(&self, py: Python<'_>) -> bool {
        let mut state = self.state(py);
        state.is_below_full = true;
        state.coalescer.on_blocked();
        !state.is_handing_over
    }

    /// The transport below has no bytes left.
    fn on_writable(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        let has_more = {
            let mut state = this.state(py);
            state.is_below_full = false;
            !state.is_handing_over && state.coalescer.on_writable()
        };
        let is_closed = this.is_loop_closed(py)?;
        if has_more {
            this.write_out(py, None, Reason::Writable, is_closed)?;
        }
        Self::arm_after_write(slf, is_closed)
    }

    fn set_max_bytes(&self, py: Python<'_>, max_bytes: usize) {
        self.state(py).coalescer.set_max_bytes(max_bytes);
    }

    /// From now on only the calling thread may write.
    fn adopt_thread(&self, py: Python<'_>) {
        self.state(py).caller = Caller::current();
    }

    #[getter]
    fn held_bytes(&self, py: Python<'_>) -> usize {
        self.state(py).coalescer.pending().len()
    }

    #[pyo3(name = "_stats_parts")]
    fn stats_parts(&self, py: Python<'_>) -> StatsParts {
        stats_parts(self.state(py).coalescer.stats())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(Some(around)) = self.around.try_borrow().as_deref() {
            around.traverse(&visit)?;
        }
        visit.call(&self.ticker)
    }
}

impl Ticked for Outbox {
    fn on_tick(&self, py: Python<'_>, tick: Tick) -> AfterTick {
        self.state(py).on_tick(tick)
    }

    fn write_out(&self, py: Python<'_>, reason: Reason, is_running: bool) -> PyResult<bool> {
        let is_closed = !is_running && self.is_loop_closed(py)?;
        self.write_out(py, None, reason, is_closed)
    }

    fn deadline_ns(&self, py: Python<'_>) -> Option<u64> {
        self.state(py).coalescer.deadline_ns()
    }

    fn arm_for_tick(&self, py: Python<'_>) -> bool {
        self.state(py).arm_for_tick()
    }

    fn disarm(&self, py: Python<'_>) {
        self.state(py).waits_for = WaitsFor::Nothing;
    }

    fn let_close(&self, py: Python<'_>) -> PyResult<()> {
        self.let_close(py)
    }
}

impl Outbox {
    /// Ask to be told the iteration's end, if the strategy needs it and the loop is not closed.
    fn arm_after_write(slf: &Bound<'_, Self>, is_loop_closed: bool) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        if !this.arm_for_tick(py) {
            return Ok(());
        }
        if is_loop_closed || this.around.borrow(py).is_none() {
            this.disarm(py);
            return Ok(());
        }
        Ticker::arm(this.ticker.bind(py), slf.clone().unbind())
    }

    /// Whether the loop may have closed the descriptor. A running loop has not.
    fn is_loop_closed(&self, py: Python<'_>) -> PyResult<bool> {
        let around = self.around(py);
        around.map_or(Ok(false), |it| it.is_loop_closed(py))
    }

    /// The state; after a fork, first forget what the parent process holds.
    fn state(&self, py: Python<'_>) -> BorrowedCell<'_, State> {
        let mut state = self.state.borrow(py);
        state.forget_after_fork();
        state
    }

    fn around(&self, py: Python<'_>) -> Option<Arc<Surroundings>> {
        self.around.borrow(py).clone()
    }

    fn tell_full(&self, py: Python<'_>, was_refused: bool) -> PyResult<()> {
        match self.around(py) {
            Some(around) => around.on_full(py, was_refused),
            None => Ok(()),
        }
    }

    /// Keep the program's socket open while something is held that we may write.
    fn keep_open(&self, py: Python<'_>) -> PyResult<()> {
        if !self.is_lent {
            return Ok(());
        }
        match self.around(py).as_deref().map(|it| &it.lent) {
            Some(Some(lent)) => lent.keep_open(py),
            _ => Ok(()),
        }
    }

    /// Let the program's socket close, if the program has closed it and we have nothing to write.
    fn let_close(&self, py: Python<'_>) -> PyResult<()> {
        if !self.is_lent {
            return Ok(());
        }
        let may_write = {
            let coalescer = &self.state(py).coalescer;
            !coalescer.pending().is_empty() && !coalescer.is_blocked()
        };
        match self.around(py).as_deref().map(|it| &it.lent) {
            Some(Some(lent)) if !may_write => lent.let_close(py),
            _ => Ok(()),
        }
    }

    /// The error for a message that finds no room; the protocol is paused until there is some.
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
}
