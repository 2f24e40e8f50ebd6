use crate::{
    knobs::{Knobs, StatsParts, stats_parts},
    message::{forks, immutable},
    ticker::Ticker,
};
use pyo3::{PyTraverseError, PyVisit, exceptions::PyBufferError, prelude::*, types::PyBytes};
use std::os::fd::RawFd;
use tinygram_core::{Coalescer, Next, Reason};
use tinygram_net::{clock::monotonic_ns, process::thread_id, socket::send_now};

/// What an event loop's connection holds back.
///
/// Law: no Python code is called while `self` is borrowed, for it may come back here.
#[pyclass(module = "tinygram._native")]
pub struct Outbox {
    pub coalescer: Coalescer,
    /// Where the kernel takes bytes from us; `None`: the transport below takes them.
    fd: Option<RawFd>,
    /// The transport below: `write(bytes)`.
    write_below: Option<Py<PyAny>>,
    /// Called after a message was held because the transport below is full.
    on_held: Option<Py<PyAny>>,
    /// Raises RuntimeError unless this thread may write.
    check_thread: Option<Py<PyAny>>,
    ticker: Option<Py<Ticker>>,
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
        on_held: Py<PyAny>,
        check_thread: Py<PyAny>,
    ) -> Self {
        Self {
            coalescer: knobs.coalescer(),
            fd,
            write_below: Some(write_below),
            on_held: Some(on_held),
            check_thread: Some(check_thread),
            ticker: Some(ticker),
            is_armed: false,
            is_diverted: false,
            thread_id: thread_id(),
            forks: forks(),
        }
    }

    fn write(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut this = slf.borrow_mut();
        if this.is_unusual() {
            drop(this);
            return Self::write_unusual(slf, data);
        }
        let data = immutable(data)?;
        let message = data.as_bytes();
        if message.is_empty() {
            return Ok(());
        }
        match this.coalescer.on_message(message, monotonic_ns) {
            Next::Wait if !this.coalescer.is_blocked() => Ok(()),
            Next::Wait => {
                let on_held = cloned(&this.on_held, slf.py());
                drop(this);
                call0(slf.py(), on_held)
            }
            Next::Arm => {
                let is_new = !std::mem::replace(&mut this.is_armed, true);
                let ticker = cloned(&this.ticker, slf.py());
                drop(this);
                match ticker {
                    Some(ticker) if is_new => Ticker::arm(ticker.bind(slf.py()), slf.clone()),
                    _ => Ok(()),
                }
            }
            Next::Write(reason) => {
                drop(this);
                Self::write_out(slf, message, reason).map(drop)
            }
            Next::WriteFirst => {
                drop(this);
                Self::write_out(slf, &[], Reason::Full)?;
                Self::write(slf, &data)
            }
            Next::Refuse => Err(PyBufferError::new_err(format!(
                "{} bytes are held and {} more would exceed max_buffered_bytes; wait for \
                 resume_writing, or drain()",
                this.coalescer.pending().len(),
                message.len()
            ))),
        }
    }

    /// Write all that is held, through the transport below where the kernel does not take it.
    fn flush(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.borrow_mut().forget_after_fork();
        Self::write_out(slf, &[], Reason::Asked).map(drop)
    }

    /// From now on messages go straight to the transport below.
    fn divert(&mut self) {
        self.is_diverted = true;
    }

    /// Hold messages again.
    fn undivert(&mut self) {
        self.is_diverted = false;
    }

    /// The end: what is held is forgotten; how many bytes that was.
    fn discard(&mut self) -> usize {
        self.is_diverted = true;
        self.coalescer.discard()
    }

    /// The transport below has bytes of its own.
    fn on_blocked(&mut self) {
        self.coalescer.on_blocked();
    }

    /// The transport below has none any more.
    fn on_writable(slf: &Bound<'_, Self>) -> PyResult<()> {
        if slf.borrow_mut().coalescer.on_writable() {
            Self::write_out(slf, &[], Reason::Writable)?;
        }
        Ok(())
    }

    fn set_max_bytes(&mut self, max_bytes: usize) {
        self.coalescer.set_max_bytes(max_bytes);
    }

    /// The calling thread is the one that may write.
    fn adopt_thread(&mut self) {
        self.thread_id = thread_id();
    }

    #[getter]
    fn held_bytes(&self) -> usize {
        self.coalescer.pending().len()
    }

    fn stats_parts(&self) -> StatsParts {
        stats_parts(self.coalescer.stats())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.write_below)?;
        visit.call(&self.on_held)?;
        visit.call(&self.check_thread)?;
        visit.call(&self.ticker)
    }

    fn __clear__(&mut self) {
        self.write_below = None;
        self.on_held = None;
        self.check_thread = None;
        self.ticker = None;
    }
}

impl Outbox {
    /// Write what is held and then `message`. Whether the transport below, and so Python code,
    /// had to take a part.
    pub fn write_out(slf: &Bound<'_, Self>, message: &[u8], reason: Reason) -> PyResult<bool> {
        let mut guard = slf.borrow_mut();
        let this = &mut *guard;
        let mut rest = message;
        let start_ns = monotonic_ns();
        if let Some(fd) = this.fd
            && !this.coalescer.is_blocked()
            && !this.is_diverted
            // The transport below meets the same error, and tells the protocol of it.
            && let Ok(taken) = send_now(fd, this.coalescer.pending(), rest)
        {
            this.coalescer
                .on_written(taken, rest, reason, start_ns, monotonic_ns());
            rest = &[];
        }
        let below = [this.coalescer.pending(), rest].concat();
        if below.is_empty() {
            return Ok(false);
        }
        this.coalescer
            .on_written(below.len(), rest, reason, start_ns, monotonic_ns());
        let write_below = cloned(&this.write_below, slf.py());
        drop(guard);
        if let Some(write_below) = write_below {
            write_below.call1(slf.py(), (PyBytes::new(slf.py(), &below),))?;
        }
        Ok(true)
    }

    pub fn forget_after_fork(&mut self) {
        if self.forks != forks() {
            self.forks = forks();
            self.coalescer.discard();
        }
    }

    fn is_unusual(&self) -> bool {
        self.is_diverted || self.thread_id != thread_id() || self.forks != forks()
    }

    #[cold]
    fn write_unusual(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut this = slf.borrow_mut();
        this.forget_after_fork();
        let is_foreign = this.thread_id != thread_id();
        let check_thread = cloned(&this.check_thread, slf.py());
        let diverted = this
            .is_diverted
            .then(|| cloned(&this.write_below, slf.py()))
            .flatten();
        drop(this);
        if is_foreign {
            call0(slf.py(), check_thread)?;
        }
        match diverted {
            Some(write_below) => write_below.call1(slf.py(), (data,)).map(drop),
            None => Self::write(slf, data),
        }
    }
}

fn cloned<T>(object: &Option<Py<T>>, py: Python<'_>) -> Option<Py<T>> {
    object.as_ref().map(|object| object.clone_ref(py))
}

fn call0(py: Python<'_>, callable: Option<Py<PyAny>>) -> PyResult<()> {
    match callable {
        Some(callable) => callable.call0(py).map(drop),
        None => Ok(()),
    }
}
