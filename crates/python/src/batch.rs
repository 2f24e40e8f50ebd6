use crate::{
    knobs::{Knobs, StatsParts, stats_parts},
    message::{forks, immutable},
};
use pyo3::{
    exceptions::{PyBufferError, PyTimeoutError},
    prelude::*,
};
use std::{io, os::fd::RawFd};
use tinygram_core::{Coalescer, Next, Reason};
use tinygram_net::{
    clock::monotonic_ns,
    socket::{send_now, wait_writable},
};

#[pyclass(subclass, module = "tinygram._native")]
pub struct Batch {
    coalescer: Coalescer,
    fd: RawFd,
    timeout_ns: Option<u64>,
    forks: u64,
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (fd, knobs, timeout_s=None))]
    fn new(fd: RawFd, knobs: &Knobs, timeout_s: Option<f64>) -> Self {
        Self {
            coalescer: knobs.coalescer(),
            fd,
            timeout_ns: timeout_s.map(|seconds| (seconds * 1e9) as u64),
            forks: forks(),
        }
    }

    fn send(&mut self, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = data.py();
        let data = immutable(data)?;
        let message = data.as_bytes();
        if message.is_empty() {
            return Ok(());
        }
        self.forget_after_fork();
        match self.coalescer.on_message(message, monotonic_ns) {
            Next::Wait => self.flush_if_due(py),
            Next::Arm => Ok(()),
            Next::Write(reason) => self.write(py, message, reason),
            Next::WriteFirst => {
                self.write(py, &[], Reason::Full)?;
                self.send(&data)
            }
            Next::Refuse => Err(PyBufferError::new_err(format!(
                "a message of {} bytes is larger than max_buffered_bytes",
                message.len()
            ))),
        }
    }

    fn poll(&mut self, py: Python<'_>) -> PyResult<()> {
        self.forget_after_fork();
        match self.coalescer.on_tick(monotonic_ns(), false) {
            Next::Write(reason) => self.write(py, &[], reason),
            _ => Ok(()),
        }
    }

    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        self.forget_after_fork();
        self.write(py, &[], Reason::Asked)
    }

    #[getter]
    fn deadline_ns(&self) -> Option<u64> {
        self.coalescer.deadline_ns()
    }

    #[getter]
    fn held_bytes(&self) -> usize {
        self.coalescer.pending().len()
    }

    fn stats_parts(&self) -> StatsParts {
        stats_parts(self.coalescer.stats())
    }
}

impl Batch {
    fn flush_if_due(&mut self, py: Python<'_>) -> PyResult<()> {
        let now_ns = monotonic_ns();
        match self.coalescer.deadline_ns() {
            // Without a hold of its own a batch ends when the caller says so.
            Some(deadline_ns) if now_ns >= deadline_ns && self.coalescer.has_hold() => {
                self.write(py, &[], Reason::Deadline)
            }
            _ => Ok(()),
        }
    }

    /// Write what is held and then `message`; what was not written when it fails is held.
    fn write(&mut self, py: Python<'_>, mut message: &[u8], reason: Reason) -> PyResult<()> {
        let give_up_ns = self
            .timeout_ns
            .map(|timeout_ns| monotonic_ns().saturating_add(timeout_ns));
        while self.coalescer.pending().len() + message.len() > 0 {
            let start_ns = monotonic_ns();
            let written = send_now(self.fd, self.coalescer.pending(), message);
            let taken = *written.as_ref().unwrap_or(&0);
            self.coalescer
                .on_written(taken, message, reason, start_ns, monotonic_ns());
            message = &[];
            written?;
            if taken == 0 {
                self.wait(py, give_up_ns)?;
            }
        }
        Ok(())
    }

    fn wait(&self, py: Python<'_>, give_up_ns: Option<u64>) -> PyResult<()> {
        let fd = self.fd;
        match py.detach(|| wait_writable(fd, give_up_ns)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(PyTimeoutError::new_err("timed out")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => py.check_signals(),
            Err(error) => Err(error.into()),
        }
    }

    fn forget_after_fork(&mut self) {
        if self.forks != forks() {
            self.forks = forks();
            self.coalescer.discard();
        }
    }
}
