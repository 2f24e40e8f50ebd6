use crate::{
    errors::{OrOsError, os_error},
    gil::GilCell,
    knobs::{Knobs, StatsParts, stats_parts},
    message::{immutable, too_large},
    message_methods::{Fault, Methods, TakesMessages, message_method, take_many},
};
use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::{PyBufferError, PyTimeoutError, PyValueError},
    prelude::*,
};
use std::{ffi::CStr, io, os::fd::RawFd};
use tinygram_core::{Coalescer, Next, Reason};
use tinygram_net::{
    clock::{coarse_monotonic_ns, monotonic_ns},
    process::Generation,
    socket::{send_now, wait_writable},
};

/// The most messages between two readings of the clock: reading it for each message nearly doubled the
/// cost of holding one.
const MAX_UNCHECKED: u64 = 15;
const BLOCK_ENDED: &str = "the batch's `with` block has ended: send inside the block, or begin \
                           another one";

const SEND_DOC: &CStr = c"send($self, data, /)\n--\n\n\
    Send the message, or hold it; it may be changed afterwards.\n\n\
    Raises TypeError when it is not bytes-like, and BufferError when max_buffered_bytes leaves it no\n\
    room: it was not taken. TimeoutError when the socket's timeout ends first, OSError as the kernel\n\
    says it: it was taken, what is unwritten is still held, and flush() goes on with it. ValueError\n\
    after the end of the `with` block: it was not taken.";

#[pyclass(frozen, subclass, module = "tinygram._native")]
pub struct Batch {
    state: GilCell<State>,
    /// `fileno()` of the socket: called before each write, for the descriptor of a closed socket may by
    /// now be another file's.
    fileno: Py<PyAny>,
    timeout_ns: Option<u64>,
}

struct State {
    coalescer: Coalescer,
    generation: Generation,
    /// Whether the program's `with` block has ended: nobody would write messages that are held after it.
    has_block_ended: bool,
    /// Whether the last write failed: the program then knows that bytes are left.
    has_failed: bool,
    /// How many messages may come before the clock is read again.
    unchecked: u32,
    /// When the clock was last read, and how many messages had come by then.
    checked: (u64, u64),
    /// The kernel's coarse clock at that time: when it has moved, the clock is read in any case.
    checked_tick_ns: u64,
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (fileno, knobs, timeout_s=None))]
    fn new(fileno: Py<PyAny>, knobs: &Knobs, timeout_s: Option<f64>) -> Self {
        let state = State {
            coalescer: knobs.coalescer(),
            generation: Generation::current(),
            has_block_ended: false,
            has_failed: false,
            unchecked: 0,
            checked: (0, 0),
            checked_tick_ns: 0,
        };
        Self {
            state: GilCell::new(state),
            fileno,
            timeout_ns: timeout_s.map(|seconds| (seconds * 1e9) as u64),
        }
    }

    /// Send each of the messages, in order, as `send` does: for many this costs less.
    ///
    /// The iterable is read to its end before the first is sent. Raises what `send` raises, and
    /// sends no more then: `taken_messages` of the exception says how many were taken.
    #[pyo3(signature = (messages, /))]
    fn send_many(slf: &Bound<'_, Self>, messages: &Bound<'_, PyAny>) -> PyResult<()> {
        take_many(slf, messages)
    }

    /// Write what is held if it is time: at `deadline_ns` or later, with `tick` at once.
    ///
    /// Raises as `flush`.
    fn poll(&self, py: Python<'_>) -> PyResult<()> {
        let next = {
            let mut state = self.state.borrow(py);
            state.forget_after_fork();
            state.coalescer.on_tick(monotonic_ns(), false)
        };
        match next {
            Next::Write(reason) => self.write(py, &[], reason),
            _ => Ok(()),
        }
    }

    /// Write what is held, now; wait for the peer as long as the socket's timeout says.
    ///
    /// Raises TimeoutError when the timeout ends first, OSError as the kernel says it: what is
    /// unwritten is still held, and the next `flush` goes on with it.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.state.borrow(py).forget_after_fork();
        self.write(py, &[], Reason::Asked)
    }

    /// When to call `poll` at the latest, in nanoseconds of CLOCK_MONOTONIC (`time.monotonic_ns`).
    ///
    /// None when nothing is held.
    #[getter]
    fn deadline_ns(&self, py: Python<'_>) -> Option<u64> {
        let mut state = self.state.borrow(py);
        state.forget_after_fork();
        state.coalescer.deadline_ns()
    }

    /// How many bytes are held, and have not been handed to the kernel.
    #[getter]
    fn held_bytes(&self, py: Python<'_>) -> usize {
        let mut state = self.state.borrow(py);
        state.forget_after_fork();
        state.coalescer.pending().len()
    }

    /// Held bytes that no exception has told the program of; 0 after a failed write.
    #[getter(_untold_bytes)]
    fn untold_bytes(&self, py: Python<'_>) -> usize {
        let has_failed = self.state.borrow(py).has_failed;
        match has_failed {
            true => 0,
            false => self.held_bytes(py),
        }
    }

    #[pyo3(name = "_stats_parts")]
    fn stats_parts(&self, py: Python<'_>) -> StatsParts {
        stats_parts(self.state.borrow(py).coalescer.stats())
    }

    /// A `with` block begins: messages are taken.
    #[pyo3(name = "_begin_block")]
    fn begin_block(&self, py: Python<'_>) {
        self.state.borrow(py).has_block_ended = false;
    }

    /// A `with` block ends: no more messages are taken.
    #[pyo3(name = "_end_block")]
    fn end_block(&self, py: Python<'_>) {
        let mut state = self.state.borrow(py);
        state.has_block_ended = true;
        state.unchecked = 0; // The short way, `hold`, takes nothing then.
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.fileno)
    }
}

impl TakesMessages for Batch {
    const METHODS: Methods = &[message_method::<Self, false>(c"send", SEND_DOC)];

    #[inline(always)]
    fn hold(&self, message: &[u8]) -> bool {
        // SAFETY: the interpreter calls this with the GIL held, and the state knows no cells.
        unsafe {
            self.state.is_free_and(|state| {
                if state.unchecked == 0
                    || state.checked_tick_ns != coarse_monotonic_ns()
                    || state.generation.is_past()
                {
                    return false;
                }
                state.unchecked -= 1;
                state.coalescer.hold_with_others(message)
            })
        }
    }

    fn take_plain<'a>(
        slf: &Bound<'_, Self>,
        messages: impl Iterator<Item = &'a [u8]>,
    ) -> (usize, PyResult<()>) {
        let mut state = slf.get().state.borrow(slf.py());
        if !state.may_hold_many() {
            return (0, Ok(()));
        }
        let count = messages
            .take_while(|message| state.coalescer.hold_with_others(message))
            .count();
        // These came at one instant; a later message looks at the clock.
        state.unchecked = state.unchecked.saturating_sub(count as u32);
        (count, Ok(()))
    }

    fn take_one(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> Result<(), Fault> {
        let (py, this) = (slf.py(), slf.get());
        let data = immutable(data)?;
        let message = data.as_bytes();
        if message.is_empty() {
            return Ok(());
        }
        let next = {
            let mut state = this.state.borrow(py);
            if state.has_block_ended {
                return Err(PyValueError::new_err(BLOCK_ENDED).into());
            }
            state.forget_after_fork();
            let next = state.coalescer.on_message(message, monotonic_ns);
            if next == Next::Wait && state.is_due() {
                drop(state);
                return this
                    .write(py, &[], Reason::Deadline)
                    .map_err(Fault::after_taking);
            }
            next
        };
        match next {
            Next::Wait | Next::Arm => Ok(()),
            Next::Write(reason) => this.write(py, message, reason).map_err(Fault::after_taking),
            Next::WriteFirst => {
                this.make_room(py)?;
                Self::take_one(slf, &data)
            }
            Next::Refuse => Err(PyBufferError::new_err(too_large(message.len())).into()),
        }
    }
}

impl Batch {
    /// Write what is held, so that a message can be held. A timeout raises no TimeoutError, which
    /// would mean that the message was taken.
    fn make_room(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, &[], Reason::Full).map_err(|error| {
            let errno = error.value(py).getattr("errno").and_then(|it| it.extract());
            if !error.is_instance_of::<PyTimeoutError>(py)
                || errno.is_ok_and(|errno: Option<i32>| errno.is_some())
            {
                return error; // The kernel's own ETIMEDOUT means the end of the connection.
            }
            let held_bytes = self.held_bytes(py);
            let refused = PyBufferError::new_err(format!(
                "timed out while {held_bytes} bytes left no room: max_buffered_bytes would be \
                 exceeded"
            ));
            refused.set_cause(py, Some(error));
            refused
        })
    }

    /// Write what is held and then `message`; if that fails, the bytes that were not written are held.
    fn write(&self, py: Python<'_>, message: &[u8], reason: Reason) -> PyResult<()> {
        let written = self.write_all(py, message, reason);
        self.state.borrow(py).has_failed = written.is_err();
        written
    }

    fn write_all(&self, py: Python<'_>, mut message: &[u8], reason: Reason) -> PyResult<()> {
        let give_up_ns = self
            .timeout_ns
            .map(|timeout_ns| monotonic_ns().saturating_add(timeout_ns));
        while !(message.is_empty() && self.state.borrow(py).coalescer.pending().is_empty()) {
            let fd = self.fileno.bind(py).call0()?.extract()?;
            let taken_bytes = self
                .state
                .borrow(py)
                .write(fd, message, reason)
                .or_os_error()?;
            message = &[];
            if taken_bytes == 0 {
                Self::wait(py, fd, give_up_ns)?;
            }
        }
        Ok(())
    }

    fn wait(py: Python<'_>, fd: RawFd, give_up_ns: Option<u64>) -> PyResult<()> {
        match py.detach(|| wait_writable(fd, give_up_ns)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(PyTimeoutError::new_err("timed out")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => py.check_signals(),
            Err(error) => Err(os_error(error)),
        }
    }
}

impl State {
    /// Whether messages may be held after others without a look at the clock.
    fn may_hold_many(&self) -> bool {
        let is_timed = self.coalescer.hold_ns().is_some();
        let is_checked = self.unchecked > 0 && self.checked_tick_ns == coarse_monotonic_ns();
        !self.generation.is_past() && !self.has_block_ended && (is_checked || !is_timed)
    }

    /// Whether the hold of the batch has ended. Without a hold the caller ends the batch.
    fn is_due(&mut self) -> bool {
        let Some(hold_ns) = self.coalescer.hold_ns() else {
            return false;
        };
        let now_ns = monotonic_ns();
        self.pace_checks(now_ns, hold_ns);
        self.coalescer.is_due(now_ns)
    }

    /// Set the number of messages until the clock is read again. Reading it costs as much as holding a
    /// message: if messages come fast, it is read for some of them only, and a deadline is noticed late
    /// by a small part of the hold at most.
    fn pace_checks(&mut self, now_ns: u64, hold_ns: u64) {
        let messages = self.coalescer.stats().messages;
        let (then_ns, before) = self.checked;
        self.checked = (now_ns, messages);
        self.checked_tick_ns = coarse_monotonic_ns();
        let gap_ns = now_ns.saturating_sub(then_ns) / (messages - before).max(1);
        self.unchecked = (hold_ns / 16 / gap_ns.max(1)).min(MAX_UNCHECKED) as u32;
    }

    /// Write what is held and then `message`; returns how many bytes the socket took.
    fn write(&mut self, fd: RawFd, message: &[u8], reason: Reason) -> io::Result<usize> {
        let start_ns = monotonic_ns();
        let written = send_now(fd, self.coalescer.pending(), message);
        let taken_bytes = *written.as_ref().unwrap_or(&0);
        self.coalescer
            .on_written(taken_bytes, message, reason, start_ns, monotonic_ns());
        written
    }

    fn forget_after_fork(&mut self) {
        if self.generation.is_past() {
            self.generation = Generation::current();
            self.coalescer.discard();
        }
    }
}
