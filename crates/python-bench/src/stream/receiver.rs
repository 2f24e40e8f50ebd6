use super::pool::{MessagePool, StreamCheck};
use crate::{
    address::ip_of,
    admission::{self, Admission},
    descriptor,
    errors::OrOsError,
};
use pyo3::{
    exceptions::{PyOSError, PyRuntimeError},
    prelude::*,
    types::PyBytes,
};
use std::os::fd::RawFd;
use tinygram_load::{messages::Spread, stream::receiver};

type Counters = Vec<(&'static str, u64)>;

#[pyclass(module = "tinygram_bench._native")]
pub struct Receiver {
    inner: Option<receiver::Receiver>,
    port: u16,
    reception: Option<receiver::Reception>,
}

#[pymethods]
impl Receiver {
    #[new]
    #[pyo3(signature = (congestion_control, host="127.0.0.1", sender=None))]
    fn new(
        congestion_control: &str,
        host: &str,
        sender: Option<&Bound<'_, Admission>>,
    ) -> PyResult<Self> {
        let sender = admission::of(sender);
        let inner =
            receiver::Receiver::listen(ip_of(host)?, congestion_control, sender).or_os_error()?;
        Ok(Self {
            port: inner.port().or_os_error()?,
            inner: Some(inner),
            reception: None,
        })
    }

    #[staticmethod]
    fn connected(fds: Vec<RawFd>) -> PyResult<Self> {
        let streams = fds
            .into_iter()
            .map(|fd| Ok(descriptor::own(fd)?.into()))
            .collect::<PyResult<_>>()?;
        Ok(Self {
            port: 0,
            inner: Some(receiver::Receiver::connected(streams)),
            reception: None,
        })
    }

    #[getter]
    fn port(&self) -> u16 {
        self.port
    }

    #[pyo3(signature = (check, messages, warm_up, buffer_bytes, compares=true))]
    fn receive(
        &mut self,
        py: Python<'_>,
        check: &StreamCheck,
        messages: u64,
        warm_up: u64,
        buffer_bytes: usize,
        compares: bool,
    ) -> PyResult<Counters> {
        let inner = self.taken()?;
        let check = check.inner.clone();
        let reception = py
            .detach(|| inner.receive(check, messages, warm_up, buffer_bytes, compares))
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(self.received(reception))
    }

    fn receive_on_many(
        &mut self,
        py: Python<'_>,
        pool: &MessagePool,
        messages: u64,
        warm_up: u64,
        buffer_bytes: usize,
        may_end_early: bool,
    ) -> PyResult<Counters> {
        let inner = self.taken()?;
        let spread = Spread::new(pool.inner.clone(), messages, may_end_early);
        let reception = py
            .detach(|| inner.receive_on_many(spread, warm_up, buffer_bytes))
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(self.received(reception))
    }

    fn turns<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let turns = self.reception.as_ref().map_or(&[][..], |r| &r.turns);
        PyBytes::new(py, turns)
    }

    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let notes = self.reception.as_ref().map_or(&[][..], |r| &r.notes);
        PyBytes::new_with(py, notes.len() * 16, |stored| {
            for (pair, note) in stored.chunks_exact_mut(16).zip(notes) {
                pair[..8].copy_from_slice(&note.bytes.to_le_bytes());
                pair[8..].copy_from_slice(&note.at_ns.to_le_bytes());
            }
            Ok(())
        })
    }
}

impl Receiver {
    fn taken(&mut self) -> PyResult<receiver::Receiver> {
        let told = "a receiver takes one stream";
        self.inner
            .take()
            .ok_or_else(|| PyRuntimeError::new_err(told))
    }

    fn received(&mut self, reception: receiver::Reception) -> Counters {
        let counters = vec![
            ("reads", reception.notes.len() as u64),
            ("receiver_cpu_ns", reception.usage.cpu_ns),
            (
                "receiver_voluntary_context_switches",
                reception.usage.voluntary_context_switches,
            ),
            (
                "receiver_involuntary_context_switches",
                reception.usage.involuntary_context_switches,
            ),
            ("receive_buffer_bytes", reception.buffer_bytes),
            ("peer_port", reception.peer_port.into()),
            ("strangers", reception.strangers),
        ];
        self.reception = Some(reception);
        counters
    }
}
