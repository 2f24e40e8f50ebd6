use crate::{
    address::ip_of,
    admission::{self, Admission},
    errors::{OrOsError, os_error},
    histogram::Histogram,
};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::{io::ErrorKind, net::SocketAddr, os::fd::RawFd, time::Duration};
use tinygram_load::{
    messages::{Limits, Setup},
    sizes::{
        client::{Client, Measured},
        faults::SampleError,
        local,
        sample::Options,
        server::{self, Counts, ServeError},
    },
};

type Counters = Vec<(&'static str, u64)>;

#[pyclass(module = "tinygram_bench._native")]
pub struct SizesServer {
    inner: server::Server,
    ports: Vec<u16>,
}

#[pymethods]
impl SizesServer {
    #[new]
    #[pyo3(signature = (port, max_message_bytes, max_messages, max_connections, congestion_control, compared=None, host="127.0.0.1", client=None, ports=1))]
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
        client: Option<&Bound<'_, Admission>>,
        ports: usize,
    ) -> PyResult<Self> {
        if ports == 0 {
            return Err(PyValueError::new_err(
                "a server needs a port: 0 were asked for",
            ));
        }
        let options = server::Options {
            address: SocketAddr::new(ip_of(host)?, port),
            ports,
            limits: Limits {
                max_length: max_message_bytes,
                max_count: max_messages,
            },
            max_connections,
            compared,
            client: admission::of(client),
        };
        let inner = py
            .detach(|| server::Server::listen(options, congestion_control))
            .or_os_error()?;
        Ok(Self {
            ports: inner.ports().or_os_error()?,
            inner,
        })
    }

    #[getter]
    fn port(&self) -> u16 {
        self.ports[0]
    }

    #[getter]
    fn ports(&self) -> Vec<u16> {
        self.ports.clone()
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
        let mut of_all = named(Counts::default());
        for counts in self.inner.counts() {
            for (sum, (_, count)) in of_all.iter_mut().zip(named(*counts)) {
                sum.1 += count;
            }
        }
        of_all
    }

    fn counters_by_port(&self) -> Vec<Counters> {
        self.inner.counts().iter().copied().map(named).collect()
    }
}

fn named(counts: Counts) -> Counters {
    vec![
        ("server_connections", counts.connections),
        ("server_samples", counts.samples),
        ("server_compared_samples", counts.compared_samples),
        ("server_bytes", counts.bytes),
        ("server_refused_connections", counts.refused),
        ("server_idle_connections", counts.idle),
        ("strangers", counts.strangers),
        ("server_cpu_ns", counts.cpu_ns),
    ]
}

/// The server's address, the length and count of messages, whether the setup leaves with the first
/// one, and TCP_NODELAY.
type Cell = (String, u32, u32, bool, bool);
/// Counters, histograms, the total of each cycle in ns, and the failure.
type Outcome = (
    Counters,
    Vec<(&'static str, Histogram)>,
    Vec<u64>,
    Option<String>,
);

#[pyfunction]
#[pyo3(signature = (cells, congestion_control, seed, order_seed, timeout_ns, first, samples, own=None))]
#[expect(
    clippy::too_many_arguments,
    reason = "the options of samples, and how many"
)]
pub fn take_samples(
    py: Python<'_>,
    cells: Vec<Cell>,
    congestion_control: &str,
    seed: u64,
    order_seed: u64,
    timeout_ns: u64,
    first: u64,
    samples: u64,
    own: Option<&Bound<'_, Admission>>,
) -> PyResult<Vec<Outcome>> {
    let admission = admission::of(own);
    let options_of = |(address, length, count, is_setup_joined, is_nodelay): Cell| -> PyResult<_> {
        Ok(Options {
            address: address.parse().map_err(|_| {
                PyValueError::new_err(format!("{address:?} is no IP address and port"))
            })?,
            setup: Setup { length, count },
            is_setup_joined,
            is_nodelay,
            congestion_control: congestion_control.into(),
            admission,
            timeout: Duration::from_nanos(timeout_ns),
        })
    };
    let cases = cells.into_iter().map(options_of);
    let cases = cases.collect::<PyResult<Vec<_>>>()?;
    let measured = py.detach(|| Client::new(cases, seed).measure(first, samples, order_seed));
    Ok(measured.into_iter().map(outcome_of).collect())
}

fn outcome_of(measured: Result<Measured, SampleError>) -> Outcome {
    match measured {
        Ok(mut measured) => {
            let totals_ns = std::mem::take(&mut measured.totals_ns);
            let counters = counters_of(&measured);
            (counters, histograms_of(measured), totals_ns, None)
        }
        Err(failure) => (vec![], vec![], vec![], Some(failure.to_string())),
    }
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

/// The histograms that are not empty.
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
