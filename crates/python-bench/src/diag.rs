use crate::{descriptor::own, errors::OrOsError};
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyDict};
use std::{os::fd::RawFd, path::PathBuf};
use tinygram_load::diag::{self, Held, Recording, Socket, State, Wanted, fields, shown};

/// Connections, listeners, and how many were left out.
type Found<'py> = (Vec<Bound<'py, PyDict>>, Vec<Bound<'py, PyDict>>, u64);
/// The interval and the probe's own CPU time, both in ns; the columns; why it ended early.
type Recorded = (u64, u64, Vec<(String, Vec<u64>)>, Option<String>);

fn wanted(port: Option<u16>, inodes: Option<Vec<u64>>) -> Wanted {
    Wanted {
        port,
        inodes: inodes.map(|inodes| inodes.into_iter().collect()),
    }
}

#[pyclass(module = "tinygram_bench._native")]
pub struct SocketDiag {
    inner: diag::Diag,
}

#[pymethods]
impl SocketDiag {
    #[new]
    #[pyo3(signature = (fd=None))]
    fn new(fd: Option<RawFd>) -> PyResult<Self> {
        let inner = match fd {
            None => diag::Diag::open(),
            Some(fd) => diag::Diag::over(own(fd)?),
        };
        Ok(Self {
            inner: inner.or_os_error()?,
        })
    }

    #[pyo3(signature = (port=None, inodes=None))]
    fn sockets<'py>(
        &mut self,
        py: Python<'py>,
        port: Option<u16>,
        inodes: Option<Vec<u64>>,
    ) -> PyResult<Found<'py>> {
        let wanted = wanted(port, inodes);
        let held = py.detach(|| self.inner.sockets(&wanted)).or_os_error()?;
        found(py, &held)
    }
}

#[pyfunction]
#[pyo3(signature = (directory, port=None, inodes=None))]
pub fn proc_sockets<'py>(
    py: Python<'py>,
    directory: PathBuf,
    port: Option<u16>,
    inodes: Option<Vec<u64>>,
) -> PyResult<Found<'py>> {
    let wanted = wanted(port, inodes);
    let held = py
        .detach(|| diag::read_proc(&directory, &wanted))
        .or_os_error()?;
    found(py, &held)
}

#[pyfunction]
pub fn socket_options(pid: i32, fd: RawFd, inode: u64) -> PyResult<Option<(bool, bool)>> {
    let options = diag::options_of(pid, fd, inode).or_os_error()?;
    Ok(options.map(|options| (options.is_nodelay, options.is_corked)))
}

fn found<'py>(py: Python<'py>, held: &Held) -> PyResult<Found<'py>> {
    let mut connections = Vec::new();
    let mut listeners = Vec::new();
    for socket in &held.sockets {
        if socket.state == State::Listen {
            listeners.push(listener(py, held, socket)?);
        } else {
            connections.push(connection(py, socket)?);
        }
    }
    Ok((connections, listeners, held.left_out))
}

fn listener<'py>(py: Python<'py>, held: &Held, socket: &Socket) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("local", shown(socket.id.local))?;
    told.set_item("accept_queue_connections", socket.receive_queue)?;
    told.set_item("backlog_connections", socket.send_queue)?;
    told.set_item("half_open_connections", held.half_open_at(socket))?;
    told.set_item("user_id", socket.user_id)?;
    told.set_item("inode", socket.inode)?;
    Ok(told)
}

fn connection<'py>(py: Python<'py>, socket: &Socket) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("local", shown(socket.id.local))?;
    told.set_item("remote", shown(socket.id.remote))?;
    told.set_item("state", socket.state.name())?;
    told.set_item("receive_queue_bytes", socket.receive_queue)?;
    told.set_item("send_queue_bytes", socket.send_queue)?;
    told.set_item("unacknowledged_bytes", socket.unacknowledged_bytes())?;
    told.set_item("cwnd_segments", socket.cwnd_segments)?;
    told.set_item("timer", socket.timer.map(|timer| timer.name))?;
    told.set_item(
        "timer_expires_ms",
        socket.timer.map(|timer| timer.expires_ms),
    )?;
    let name = &socket.congestion_control;
    told.set_item(
        "congestion_control",
        (!name.is_empty()).then_some(name.as_str()),
    )?;
    told.set_item("user_id", socket.user_id)?;
    told.set_item("inode", socket.inode)?;
    for field in fields::TCP_INFO {
        told.set_item(field.name, socket.info.number(field))?;
    }
    for field in fields::MEMORY {
        told.set_item(field.name, socket.memory.number(field))?;
    }
    Ok(told)
}

#[pyclass(module = "tinygram_bench._native")]
pub struct SocketProbe {
    inner: Option<diag::Probe>,
}

#[pymethods]
impl SocketProbe {
    #[new]
    fn new(py: Python<'_>, port: u16, interval_ns: u64) -> PyResult<Self> {
        let probe = py
            .detach(|| diag::Probe::start(port, interval_ns))
            .or_os_error()?;
        Ok(Self { inner: Some(probe) })
    }

    fn stop(&mut self, py: Python<'_>) -> PyResult<Recorded> {
        let Some(probe) = self.inner.take() else {
            return Err(PyRuntimeError::new_err("a probe is stopped once"));
        };
        Ok(recorded(&py.detach(|| probe.stop())))
    }
}

fn recorded(recording: &Recording) -> Recorded {
    let kept = recording.samples.kept();
    let mut columns = vec![(
        "at_ns".to_owned(),
        kept.iter().map(|sample| sample.at_ns).collect(),
    )];
    for (index, name) in diag::column_names().into_iter().enumerate() {
        let values = kept.iter().map(|sample| sample.columns[index]).collect();
        columns.push((name, values));
    }
    (
        recording.samples.interval_ns(),
        recording.cpu_ns,
        columns,
        recording.failure.as_ref().map(ToString::to_string),
    )
}
