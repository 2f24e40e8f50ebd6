use crate::{
    errors::OrOsError,
    knobs::{Knobs, StatsParts, stats_parts},
    message::immutable,
    message_methods::{Fault, Methods, TakesMessages, message_method, take_many},
};
use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::{PyBlockingIOError, PyOSError, PyTimeoutError},
    prelude::*,
};
use std::{
    ffi::CStr,
    os::fd::BorrowedFd,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tinygram_net::{
    Failure, FlushError, SendError,
    clock::{after_ns, monotonic_ns},
};

/// Whether the program is ending. Nobody will write what threads leave behind, so each send flushes.
///
/// The connection's lock orders the last flush and a send: a message that is held before the last flush
/// looks at the connection is flushed by it, and the sender of a later message sees this flag.
static IS_EXITING: AtomicBool = AtomicBool::new(false);
const EXIT_S: f64 = 1.0;
/// The longest wait without the GIL, so that signal handlers run in time.
const SLICE_NS: u64 = 50_000_000;

const SEND_DOC: &CStr = c"send($self, data, /)\n--\n\n\
    Take the message, whole: written now, or held. Returns its length in bytes.\n\n\
    It may be changed afterwards. Waits while max_buffered_bytes are held: TimeoutError or BlockingIOError as the socket's timeout\n\
    says. Raises ConnectionFailedError, and OSError (EBADF) when it is closed.";
const SENDALL_DOC: &CStr = c"sendall($self, data, /)\n--\n\nAs send; returns None.";

#[pyclass(frozen, subclass, weakref, module = "tinygram._native")]
pub struct CoalescingSocket {
    inner: tinygram_net::CoalescingSocket,
    /// `gettimeout()` of the socket: None, 0.0 or seconds.
    timeout: Py<PyAny>,
    /// The makers of exceptions: `failed(errno, acknowledged, unknown, unsent)` and
    /// `timed_out(unknown, unsent)`, in bytes.
    failed: Py<PyAny>,
    timed_out: Py<PyAny>,
}

#[pymethods]
impl CoalescingSocket {
    #[new]
    fn new(
        fd: i32,
        knobs: &Knobs,
        timeout: Py<PyAny>,
        failed: Py<PyAny>,
        timed_out: Py<PyAny>,
    ) -> PyResult<Self> {
        // SAFETY: the caller's socket is open while this runs, and keeps its descriptor.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        Ok(Self {
            inner: tinygram_net::CoalescingSocket::new(fd, knobs.inner()).or_os_error()?,
            timeout,
            failed,
            timed_out,
        })
    }

    /// Send each of the messages, in order, as `sendall` does: for many this costs less.
    ///
    /// The iterable is read to its end before the first is sent; another thread's messages may come
    /// between. Raises what `sendall` raises, and sends no more then: `taken_messages` of the
    /// exception says how many were taken.
    #[pyo3(signature = (messages, /))]
    fn send_many(slf: &Bound<'_, Self>, messages: &Bound<'_, PyAny>) -> PyResult<()> {
        take_many(slf, messages)
    }

    /// Wait until the kernel has taken all that was sent before this call, `timeout_s` seconds at
    /// most; None waits as long as it takes.
    ///
    /// Raises DeliveryTimeoutError when the time is over, ConnectionFailedError when the connection
    /// failed.
    #[pyo3(signature = (timeout_s=None))]
    fn flush(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<()> {
        self.flush_handed_over(py, timeout_s)
    }

    #[pyo3(signature = (timeout_s=None))]
    fn close(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<()> {
        self.inner.refuse_more();
        let delivered = self.wait(py, timeout_s, |timeout| self.inner.deliver(timeout));
        // `end` waits for a write that is under way.
        py.detach(|| self.inner.end());
        delivered
    }

    /// Take no more messages and drop those that are held; returns how many bytes were dropped.
    ///
    /// The socket stays open: `close` closes it.
    fn abort(&self, py: Python<'_>) -> usize {
        py.detach(|| self.inner.abort())
    }

    /// How many bytes are held, and have not been handed to the kernel.
    #[getter]
    fn held_bytes(&self) -> usize {
        self.inner.held_bytes()
    }

    /// A handle to what is held, which outlives this object.
    #[pyo3(name = "_leftover")]
    fn leftover(&self) -> Leftover {
        Leftover {
            inner: self.inner.leftover(),
        }
    }

    #[pyo3(name = "_stats_parts")]
    fn stats_parts(&self) -> StatsParts {
        stats_parts(&self.inner.stats())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.timeout)?;
        visit.call(&self.failed)?;
        visit.call(&self.timed_out)
    }
}

#[pyclass(frozen, module = "tinygram._native")]
pub struct Leftover {
    inner: tinygram_net::Leftover,
}

#[pymethods]
impl Leftover {
    #[getter]
    fn held_bytes(&self) -> usize {
        self.inner.held_bytes()
    }
}

impl TakesMessages for CoalescingSocket {
    const METHODS: Methods = &[
        message_method::<Self, true>(c"send", SEND_DOC),
        message_method::<Self, false>(c"sendall", SENDALL_DOC),
    ];

    #[inline(always)]
    fn hold(&self, message: &[u8]) -> bool {
        let is_held = !IS_EXITING.load(Ordering::Relaxed) && self.inner.hold_with_others(message);
        // Without a GIL the last flush may have run in between, and have missed the message.
        #[cfg(Py_GIL_DISABLED)]
        if is_held && IS_EXITING.load(Ordering::Relaxed) {
            // SAFETY: the interpreter calls this, in a thread that is attached. PyO3 itself attaches none
            // while Python ends.
            let py = unsafe { Python::assume_attached() };
            let flushed = self.flush_handed_over(py, Some(EXIT_S));
            flushed.unwrap_or_else(|error| error.write_unraisable(py, None));
        }
        is_held
    }

    fn take_plain<'a>(
        slf: &Bound<'_, Self>,
        messages: impl Iterator<Item = &'a [u8]>,
    ) -> (usize, PyResult<()>) {
        let (py, this) = (slf.py(), slf.get());
        let (count, sent) = this.inner.send_many(messages);
        let sent = match sent {
            Err(SendError::Failed(failure)) => Err(this.failed(py, &failure)),
            // Other errors are met again by the next message, which raises them or waits for room.
            _ if count > 0 && IS_EXITING.load(Ordering::Relaxed) => {
                this.flush_handed_over(py, Some(EXIT_S))
            }
            _ => Ok(()),
        };
        (count, sent)
    }

    fn take_one(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> Result<(), Fault> {
        let (py, this) = (slf.py(), slf.get());
        let data = immutable(data)?;
        let message = data.as_bytes();
        let mut give_up_ns = None;
        loop {
            match this.inner.send_many([message]) {
                (_, Ok(())) if IS_EXITING.load(Ordering::Relaxed) => {
                    let flushed = this.flush_handed_over(py, Some(EXIT_S));
                    return flushed.map_err(Fault::after_taking);
                }
                (_, Ok(())) => return Ok(()),
                (_, Err(SendError::NoRoom { held_bytes })) => {
                    let give_up_ns = match give_up_ns {
                        Some(at_ns) => at_ns,
                        None => *give_up_ns.insert(this.give_up_ns(py, held_bytes)?),
                    };
                    this.wait_room(py, message.len(), give_up_ns)?;
                }
                (_, Err(SendError::Closed)) => {
                    let closed = PyOSError::new_err((libc::EBADF, "the socket is closed"));
                    return Err(closed.into());
                }
                (count, Err(SendError::Failed(failure))) => {
                    return Err(Fault {
                        error: this.failed(py, &failure),
                        was_taken: count > 0,
                    });
                }
                (_, Err(error)) => return Err(PyOSError::new_err(error.to_string()).into()),
            }
        }
    }
}

impl CoalescingSocket {
    /// When a send stops waiting for room, by the socket's own timeout.
    fn give_up_ns(&self, py: Python<'_>, held_bytes: usize) -> PyResult<u64> {
        match self.timeout.bind(py).call0()?.extract::<Option<f64>>()? {
            Some(0.0) => Err(PyBlockingIOError::new_err((
                libc::EAGAIN,
                format!("{held_bytes} bytes are held: max_buffered_bytes leaves no room for more"),
            ))),
            timeout_s => Ok(give_up_ns(timeout_s)),
        }
    }

    fn wait_room(&self, py: Python<'_>, bytes: usize, give_up_ns: u64) -> PyResult<()> {
        let (slice, is_last) = next_slice(give_up_ns);
        let has_room = py.detach(|| self.inner.wait_room(bytes, slice));
        py.check_signals()?;
        if !has_room && is_last {
            return Err(PyTimeoutError::new_err("timed out"));
        }
        Ok(())
    }

    /// Wait for what was handed over before this call, not for later messages.
    fn flush_handed_over(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<()> {
        let bytes = self.inner.handed_over_bytes();
        self.wait(py, timeout_s, |timeout| {
            self.inner.flush_first(bytes, timeout)
        })
    }

    fn wait(
        &self,
        py: Python<'_>,
        timeout_s: Option<f64>,
        act: impl Fn(Duration) -> Result<(), FlushError> + Sync,
    ) -> PyResult<()> {
        let give_up_ns = give_up_ns(timeout_s);
        loop {
            let (slice, is_last) = next_slice(give_up_ns);
            match py.detach(|| act(slice)) {
                Ok(()) => return Ok(()),
                Err(FlushError::Failed(failure)) => return Err(self.failed(py, &failure)),
                Err(FlushError::TimedOut {
                    unknown_bytes,
                    unsent_bytes,
                }) if is_last => {
                    return Err(raised(py, &self.timed_out, (unknown_bytes, unsent_bytes)));
                }
                Err(FlushError::TimedOut { .. }) => py.check_signals()?,
                Err(error) => return Err(PyOSError::new_err(error.to_string())),
            }
        }
    }

    fn failed(&self, py: Python<'_>, failure: &Failure) -> PyErr {
        let counts = (
            failure.errno,
            failure.acknowledged_bytes,
            failure.unknown_bytes,
            failure.unsent_bytes,
        );
        raised(py, &self.failed, counts)
    }
}

fn raised<'py>(
    py: Python<'py>,
    exception: &Py<PyAny>,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyErr {
    match exception.bind(py).call1(arguments) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// When a wait of `timeout_s` is over, in nanoseconds of CLOCK_MONOTONIC; `None`: never.
fn give_up_ns(timeout_s: Option<f64>) -> u64 {
    timeout_s.map_or(u64::MAX, |seconds| {
        after_ns(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX))
    })
}

/// How long to wait without the GIL, and whether the whole wait is over after that.
fn next_slice(give_up_ns: u64) -> (Duration, bool) {
    let left_ns = give_up_ns.saturating_sub(monotonic_ns());
    (
        Duration::from_nanos(left_ns.min(SLICE_NS)),
        left_ns <= SLICE_NS,
    )
}

/// The program ends: wait a second at most until all sockets have written what they held. Returns an
/// error text for each that has not.
#[pyfunction]
pub fn flush_all_at_exit(py: Python<'_>) -> Vec<String> {
    IS_EXITING.store(true, Ordering::Relaxed);
    let flushed = py.detach(|| tinygram_net::flush_all(Duration::from_secs_f64(EXIT_S)));
    let errors = flushed.err().unwrap_or_default();
    errors.iter().map(ToString::to_string).collect()
}
