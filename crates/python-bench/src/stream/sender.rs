use super::{
    pacer::{Pacer, SliceTable, slices},
    pool::MessagePool,
};
use crate::errors::OrOsError;
use pyo3::prelude::*;
use std::os::fd::RawFd;
use tinygram_load::{
    sends,
    stream::sender::{self, Sender},
};

#[pyfunction]
#[pyo3(signature = (fd, pool, first, last, max_bytes=None))]
pub fn send_flat_out(
    py: Python<'_>,
    fd: RawFd,
    pool: &MessagePool,
    first: u64,
    last: u64,
    max_bytes: Option<usize>,
) -> PyResult<Vec<u64>> {
    let mut sender = Sender::new(fd, &pool.inner, max_bytes);
    py.detach(|| sender.send_flat_out(first..last))
        .or_os_error()
}

#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "the stream's five and the slices' two"
)]
#[pyo3(signature = (fd, pool, first, last, table, start_ns, max_bytes=None))]
pub fn send_in_slices(
    py: Python<'_>,
    fd: RawFd,
    pool: &MessagePool,
    first: u64,
    last: u64,
    table: SliceTable,
    start_ns: u64,
    max_bytes: Option<usize>,
) -> PyResult<(Vec<u64>, u64)> {
    let (slices, _) = slices(table)?;
    let mut sender = Sender::new(fd, &pool.inner, max_bytes);
    py.detach(|| sender.send_in_slices(first..last, &slices, start_ns))
        .or_os_error()
}

#[pyfunction]
#[pyo3(signature = (fd, pool, first, pacer, max_bytes=None))]
pub fn send_paced(
    py: Python<'_>,
    fd: RawFd,
    pool: &MessagePool,
    first: u64,
    pacer: &mut Pacer,
    max_bytes: Option<usize>,
) -> PyResult<()> {
    let mut sender = Sender::new(fd, &pool.inner, max_bytes);
    py.detach(|| sender.send_paced(&mut pacer.inner, first))
        .or_os_error()
}

/// Sends a stream on many connections.
#[pyclass(module = "tinygram_bench._native")]
pub struct ManyConnections {
    sender: Sender<sender::ManyConnections>,
}

// Its methods take it mutably, so that no two threads send at a time.
#[pymethods]
impl ManyConnections {
    #[new]
    fn new(
        py: Python<'_>,
        fds: Vec<RawFd>,
        is_ring: bool,
        pool: &MessagePool,
        patience_ns: u64,
    ) -> PyResult<Self> {
        let sends = sends::over(fds, is_ring).or_os_error()?;
        let pool = &pool.inner;
        let outlet = py.detach(|| sender::ManyConnections::new(sends, pool, patience_ns));
        Ok(Self {
            sender: Sender::over(outlet),
        })
    }

    fn send_flat_out(&mut self, py: Python<'_>, first: u64, last: u64) -> PyResult<Vec<u64>> {
        let sender = &mut self.sender;
        py.detach(|| sender.send_flat_out(first..last))
            .or_os_error()
    }

    fn send_in_slices(
        &mut self,
        py: Python<'_>,
        first: u64,
        last: u64,
        table: SliceTable,
        start_ns: u64,
    ) -> PyResult<(Vec<u64>, u64)> {
        let (slices, _) = slices(table)?;
        let sender = &mut self.sender;
        py.detach(|| sender.send_in_slices(first..last, &slices, start_ns))
            .or_os_error()
    }

    fn send_paced(&mut self, py: Python<'_>, first: u64, pacer: &mut Pacer) -> PyResult<()> {
        let sender = &mut self.sender;
        py.detach(|| sender.send_paced(&mut pacer.inner, first))
            .or_os_error()
    }

    fn calls(&self) -> (u64, u64) {
        let calls = self.sender.outlet().calls();
        (calls.writes, calls.would_block)
    }
}
