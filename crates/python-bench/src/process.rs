use crate::{descriptor::own, errors::OrOsError};
use pyo3::{prelude::*, types::PyBytes};
use std::os::fd::{AsFd, IntoRawFd, RawFd};
use tinygram_link::namespace;
use tinygram_load::{
    process::{self, instructions as instruction_counts},
    sends::ring,
    write_counts as counts,
};
use tinygram_net::socket;

#[pyfunction]
pub fn give_up_capabilities() -> PyResult<()> {
    process::give_up_capabilities().or_os_error()
}

#[pyfunction]
pub fn die_with_parent(parent_pid: u32) -> PyResult<()> {
    process::die_with_parent(parent_pid).or_os_error()
}

#[pyfunction]
pub fn set_process_name(name: &str) -> PyResult<()> {
    process::set_name(name).or_os_error()
}

#[pyfunction]
pub fn set_exact_timers(is_exact: bool) {
    process::set_exact_timers(is_exact);
}

#[pyfunction]
pub fn create_network_namespace() -> PyResult<(RawFd, RawFd)> {
    let (home, made) = namespace::create().or_os_error()?;
    Ok((home.into_raw_fd(), made.into_raw_fd()))
}

#[pyfunction]
pub fn enter_network_namespace(fd: RawFd) -> PyResult<()> {
    namespace::enter(own(fd)?.as_fd()).or_os_error()
}

#[pyfunction]
pub fn count_writes_library(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, counts::LIBRARY)
}

#[pyfunction]
pub fn watch_writes(fds: Vec<RawFd>) -> PyResult<bool> {
    counts::watch(&fds).or_os_error()
}

#[pyfunction]
pub fn watch_more_writes(fds: Vec<RawFd>) -> PyResult<bool> {
    counts::watch_also(&fds).or_os_error()
}

#[pyfunction]
pub fn write_counts() -> Option<(u64, u64, u64)> {
    counts::read().map(|counts| (counts.writes, counts.bytes, counts.would_block))
}

#[pyfunction]
pub fn count_instructions() -> bool {
    instruction_counts::count()
}

#[pyfunction]
pub fn instructions() -> Option<u64> {
    instruction_counts::read()
}

#[pyfunction]
pub fn call_times() -> Option<Vec<(&'static str, u64)>> {
    let found = counts::read_times()?;
    Some(vec![
        ("write_calls", found.write_calls),
        ("write_ns", found.write_ns),
        ("wait_calls", found.wait_calls),
        ("wait_ns", found.wait_ns),
        ("between_ns", found.between_ns),
        ("timing_ns", found.timing_ns),
        ("asked", found.asked),
        ("unsent", found.unsent),
    ])
}

#[pyfunction]
pub fn send_queue_bytes(fd: RawFd) -> PyResult<u64> {
    socket::send_queue_bytes(fd).or_os_error()
}

#[pyfunction]
pub fn tcp_info(fd: RawFd) -> PyResult<Vec<(&'static str, u64)>> {
    let info = socket::tcp_info(fd).or_os_error()?;
    Ok(vec![
        ("send_mss_bytes", info.tcpi_snd_mss.into()),
        ("rtt_us", info.tcpi_rtt.into()),
        ("congestion_window_segments", info.tcpi_snd_cwnd.into()),
        ("retransmits", info.tcpi_total_retrans.into()),
        ("segments_out", info.tcpi_segs_out.into()),
        ("segments_in", info.tcpi_segs_in.into()),
        ("data_segments", info.tcpi_data_segs_out.into()),
        ("acknowledged_bytes", info.tcpi_bytes_acked),
    ])
}

#[pyfunction]
pub fn io_uring_refusal() -> Option<String> {
    ring::check().err().map(|error| error.to_string())
}
