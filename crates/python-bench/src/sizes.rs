use crate::{
    address::ipv4_of,
    errors::{OrOsError, os_error},
    histogram::Histogram,
};
use pyo3::{
    exceptions::{PyOSError, PyValueError},
    prelude::*,
};
use std::{io::ErrorKind, net::SocketAddrV4, os::fd::RawFd, time::Duration};
use tinygram_load::{
    messages::{Limits, Setup},
    sizes::{
        client::{Client, Measured, Options},
        local,
        server::{self, ServeError},
    },
};

type Counters = Vec<(&'static str, u64)>;

#[pyclass(module = "tinygram_bench._native")]
pub struct SizesServer {
    inner: server::Server,
    port: u16,
}

#[pymethods]
impl SizesServer {
    #[new]
    #[pyo3(signature = (port, max_message_bytes, max_messages, max_connections, congestion_control, compared=None, host="127.0.0.1", client_host=None))]
    #[allow(clippy::too_many_arguments)] // Keywords in Python.
    fn new(
        py: Python<'_>,
        port: u16,
        max_message_bytes: u32,
        max_messages: u32,
        max_connections: usize,
        congestion_control: &str,
        compared: Option<(u64, usize)>,
        host: &str,
        client_host: Option<&str>,
    ) -> PyResult<Self> {
        let options = server::Options {
            address: SocketAddrV4::new(ipv4_of(host)?, port),
            limits: Limits {
                max_length: max_message_bytes,
                max_count: max_messages,
            },
            max_connections,
            compared,
            client: client_host.map(ipv4_of).transpose()?,
        };
        let inner = py
            .detach(|| server::Server::listen(options, congestion_control))
            .or_os_error()?;
        Ok(Self {
            port: inner.port().or_os_error()?,
            inner,
        })
    }

    #[getter]
    fn port(&self) -> u16 {
        self.port
    }

    #[pyo3(signature = (samples=None, stop_fd=None))]
    fn serve(
        &mut self,
        py: Python<'_>,
        samples: Option<u64>,
        stop_fd: Option<RawFd>,
    ) -> PyResult<Counters> {
        let samples = samples.unwrap_or(u64::MAX);
        loop {
            match py.detach(|| self.inner.serve(samples, stop_fd)) {
                Ok(()) => return Ok(self.counters()),
                Err(ServeError::Io(error)) if error.kind() == ErrorKind::Interrupted => {
                    py.check_signals()?;
                }
                Err(ServeError::Io(error)) => return Err(os_error(error)),
                Err(wrong @ ServeError::WrongByte(_)) => {
                    return Err(PyValueError::new_err(wrong.to_string()));
                }
            }
        }
    }

    fn counters(&self) -> Counters {
        let counts = self.inner.counts();
        vec![
            ("server_connections", counts.connections),
            ("server_samples", counts.samples),
            ("server_compared_samples", counts.compared_samples),
            ("server_bytes", counts.bytes),
            ("server_refused_connections", counts.refused),
            ("server_idle_connections", counts.idle),
            ("strangers", counts.strangers),
        ]
    }
}

#[pyfunction]
#[pyo3(signature = (address, length, count, is_setup_joined, is_nodelay, congestion_control, seed, timeout_ns, first, samples, own_host=None))]
#[expect(
    clippy::too_many_arguments,
    reason = "the options of a sample, and how many"
)]
pub fn take_samples(
    py: Python<'_>,
    address: &str,
    length: u32,
    count: u32,
    is_setup_joined: bool,
    is_nodelay: bool,
    congestion_control: &str,
    seed: u64,
    timeout_ns: u64,
    first: u64,
    samples: u64,
    own_host: Option<&str>,
) -> PyResult<(Counters, Vec<(&'static str, Histogram)>)> {
    let address: SocketAddrV4 = address
        .parse()
        .map_err(|_| PyValueError::new_err(format!("{address:?} is no IPv4 address and port")))?;
    let options = Options {
        address,
        setup: Setup { length, count },
        is_setup_joined,
        is_nodelay,
        congestion_control: congestion_control.into(),
        own_address: own_host.map(ipv4_of).transpose()?,
        seed,
        timeout: Duration::from_nanos(timeout_ns),
    };
    let measured = py
        .detach(|| Client::new(options).measure(first, samples))
        .map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok((counters_of(&measured), histograms_of(measured)))
}

fn counters_of(measured: &Measured) -> Counters {
    let usage = measured.usage;
    vec![
        ("first_sample_ns", measured.first_sample_ns),
        ("start_ns", measured.start_ns),
        ("run_time_ns", measured.run_time_ns),
        ("retransmits", measured.retransmits),
        ("data_segments", measured.data_segments),
        ("send_mss_bytes", measured.send_mss_bytes),
        ("cpu_ns", usage.cpu_ns),
        (
            "voluntary_context_switches",
            usage.voluntary_context_switches,
        ),
        (
            "involuntary_context_switches",
            usage.involuntary_context_switches,
        ),
    ]
}

/// Those that hold something.
fn histograms_of(measured: Measured) -> Vec<(&'static str, Histogram)> {
    [
        ("connect_ns", measured.connect),
        ("setup_ns", measured.setup),
        ("transfer_ns", measured.transfer),
        ("total_ns", measured.total),
        ("first_trip_ns", measured.first_trip),
        ("next_trip_ns", measured.next_trips),
        ("first_total_ns", measured.first_total),
    ]
    .into_iter()
    .filter(|(_, inner)| inner.count() > 0)
    .map(|(name, inner)| (name, Histogram { inner }))
    .collect()
}

#[pyfunction]
#[pyo3(signature = (part, first, samples, far_cpu=None))]
pub fn time_local(
    py: Python<'_>,
    part: &str,
    first: u64,
    samples: u64,
    far_cpu: Option<usize>,
) -> PyResult<Histogram> {
    let timed = py.detach(|| match (part, far_cpu) {
        ("system-call", None) => Some(Ok(local::time_system_calls(first, samples))),
        ("one-thread", None) => Some(local::time_one_thread(first, samples)),
        ("two-threads", Some(cpu)) => Some(local::time_two_threads(first, samples, cpu)),
        _ => None,
    });
    match timed {
        Some(timed) => Ok(Histogram {
            inner: timed.or_os_error()?,
        }),
        None => Err(PyValueError::new_err(format!(
            "unknown part {part:?}: system-call, one-thread, or two-threads with a core"
        ))),
    }
}
