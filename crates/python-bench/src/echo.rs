use crate::{
    address::ip_of,
    admission::{self, Admission},
    encrypted::encrypted,
    errors::OrOsError,
    histogram::Histogram,
    strategy::strategy_of,
    stream::pacer::{SliceTable, schedule, slices as slices_of},
};
use pyo3::{
    exceptions::{PyOSError, PyValueError},
    prelude::*,
    types::PyBytes,
};
use std::{
    net::{SocketAddr, ToSocketAddrs},
    os::fd::RawFd,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tinygram_core::Knobs;
use tinygram_load::{
    echo::{
        Reply,
        client::{self, ClientError, Encrypt, Exchange, Goal, Paced, RoundTrips, Turn},
        server,
    },
    messages::MessagePool,
    schedule::StartDelays,
};

type Counters = Vec<(&'static str, u64)>;

fn os_error(error: &ClientError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

#[pyclass(module = "tinygram_bench._native")]
pub struct EchoClient {
    inner: client::EchoClient,
    /// When the messages of the next run are due; `None`: it is a closed loop.
    due_ns: Option<Vec<u64>>,
    /// The last run: its slices, or the whole of it.
    turns: Vec<Turn>,
    /// What is told of it only at a rate.
    start_delays: Option<StartDelays>,
}

impl EchoClient {
    fn has_kept_to(&mut self, found: Paced) {
        self.turns = found.turns;
        self.start_delays = Some(found.start_delays);
    }
}

#[pymethods]
impl EchoClient {
    #[new]
    #[expect(
        clippy::too_many_arguments,
        reason = "where to, what, and how: named by every caller"
    )]
    #[pyo3(signature = (host, port, seed, message_bytes, workers, depth, congestion_control, connect_timeout_ns, trusts=false, polls=false, own=None, encrypt=None))]
    fn new(
        py: Python<'_>,
        host: &str,
        port: u16,
        seed: u64,
        message_bytes: u64,
        workers: usize,
        depth: u64,
        congestion_control: Option<String>,
        connect_timeout_ns: u64,
        trusts: bool,
        polls: bool,
        own: Option<&Bound<'_, Admission>>,
        encrypt: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        if workers == 0 || depth == 0 {
            return Err(PyValueError::new_err(format!(
                "{workers} workers with {depth} messages in flight: both must be at least 1"
            )));
        }
        let settings = client::Settings {
            workers,
            depth,
            congestion_control,
            admission: admission::of(own),
            connect_timeout: Duration::from_nanos(connect_timeout_ns),
            is_trusting: trusts,
            is_polling: polls,
        };
        py.detach(|| {
            let server = resolved(host, port)?;
            let pool = MessagePool::generate(seed, message_bytes, message_bytes)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            let encrypt = encrypt.as_ref().map(|made| move |fd| encrypted(made, fd));
            let encrypt = encrypt.as_ref().map(|made| made as Encrypt<'_>);
            let inner = client::EchoClient::connect(server, pool, &settings, encrypt)
                .map_err(|error| os_error(&error))?;
            Ok(Self {
                inner,
                due_ns: None,
                turns: Vec::new(),
                start_delays: None,
            })
        })
    }

    fn connects_ns(&self) -> Vec<u64> {
        self.inner.connects_ns().to_vec()
    }

    fn keep_to(
        &mut self,
        py: Python<'_>,
        rate_per_s: f64,
        arrival: &str,
        duration_ns: u64,
        seed: u64,
    ) -> PyResult<()> {
        self.due_ns = py.detach(|| {
            let made = schedule(rate_per_s, arrival, 1, duration_ns, seed)?;
            PyResult::Ok(Some(made.own_due_ns(duration_ns).collect()))
        })?;
        Ok(())
    }

    #[pyo3(signature = (messages, duration_ns, timeout_ns))]
    fn run(
        &mut self,
        py: Python<'_>,
        messages: Option<u64>,
        duration_ns: Option<u64>,
        timeout_ns: u64,
    ) -> PyResult<Counters> {
        let goal = match (messages, duration_ns) {
            (Some(messages), None) => Goal::Messages(messages),
            (None, Some(duration_ns)) => Goal::Duration(duration_ns),
            _ => {
                return Err(PyValueError::new_err(
                    "a run ends after messages or after a time: give one of the two",
                ));
            }
        };
        let inner = &mut self.inner;
        match (self.due_ns.take(), goal) {
            (None, _) => {
                let found = py.detach(|| inner.run(goal, timeout_ns));
                self.turns = vec![found.map_err(|error| os_error(&error))?];
            }
            (Some(due_ns), Goal::Duration(lasts_ns @ 1..)) => {
                let found = py.detach(|| inner.run_at_a_rate(due_ns, lasts_ns, timeout_ns));
                self.has_kept_to(found.map_err(|error| os_error(&error))?);
            }
            (Some(_), _) => {
                return Err(PyValueError::new_err(
                    "a run at a rate ends after a time: give its duration",
                ));
            }
        }
        Ok(self.counters())
    }

    fn run_in_slices(
        &mut self,
        py: Python<'_>,
        slices: SliceTable,
        open_ns: u64,
        start_ns: u64,
        timeout_ns: u64,
    ) -> PyResult<()> {
        let (slices, settling_ns) = slices_of(slices)?;
        let inner = &mut self.inner;
        if let Some(due_ns) = self.due_ns.take() {
            let found = py.detach(|| {
                inner.run_at_a_rate_in_slices(due_ns, &slices, settling_ns, start_ns, timeout_ns)
            });
            self.has_kept_to(found.map_err(|error| os_error(&error))?);
        } else {
            self.turns = py
                .detach(|| inner.run_in_slices(&slices, settling_ns, open_ns, start_ns, timeout_ns))
                .map_err(|error| os_error(&error))?;
        }
        Ok(())
    }

    fn counters(&self) -> Counters {
        let mut counters = counters_of(&self.turns);
        if let Some(found) = &self.start_delays {
            counters.push(("messages_not_begun", found.not_begun));
            counters.push(("behind_ns", found.behind_ns));
        }
        counters
    }

    fn slices(&self) -> Vec<(u64, u64, u64, u64)> {
        let turns = self.turns.iter();
        turns
            .map(|turn| {
                let found = &turn.measured;
                (
                    found.messages,
                    found.end_ns - found.start_ns,
                    turn.all_messages,
                    turn.last_ns,
                )
            })
            .collect()
    }

    fn round_trips_of_slices<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let turns = self.turns.iter();
        turns
            .map(|turn| match &turn.measured.round_trips {
                RoundTrips::Each(values_ns) => {
                    let bytes: Vec<u8> = values_ns.iter().flat_map(|ns| ns.to_ne_bytes()).collect();
                    PyBytes::new(py, &bytes)
                }
                RoundTrips::Counted(_) => PyBytes::new(py, &[]),
            })
            .collect()
    }

    fn round_trips(&self) -> Histogram {
        let mut inner = tinygram_core::Histogram::new();
        for turn in &self.turns {
            turn.measured.round_trips.add_to(&mut inner);
        }
        Histogram { inner }
    }

    fn start_delays(&self) -> Histogram {
        let found = self.start_delays.clone().unwrap_or_default();
        Histogram { inner: found.times }
    }

    fn fault(&self) -> Option<String> {
        let (worker, fault) = self.inner.fault()?;
        Some(format!("worker {worker}: {fault}"))
    }

    fn finish(&mut self, py: Python<'_>, patience_ns: u64) -> PyResult<()> {
        let inner = &mut self.inner;
        py.detach(|| inner.finish(Duration::from_nanos(patience_ns)))
            .map_err(|error| os_error(&error))
    }
}

/// All slices together, or the whole run.
fn counters_of(turns: &[Turn]) -> Counters {
    let of_measured = |of: fn(&Exchange) -> u64| turns.iter().map(|turn| of(&turn.measured)).sum();
    let workers = turns
        .first()
        .map_or(0, |turn| turn.measured.messages_of.len());
    let of_worker = |worker: usize| -> u64 {
        let measured = turns.iter().map(|turn| &turn.measured);
        measured.map(|found| found.messages_of[worker]).sum()
    };
    let of_workers: Vec<u64> = (0..workers).map(of_worker).collect();
    vec![
        (
            "start_ns",
            turns.first().map_or(0, |turn| turn.measured.start_ns),
        ),
        ("messages", turns.iter().map(|turn| turn.all_messages).sum()),
        ("middle_messages", of_measured(|found| found.messages)),
        (
            "run_time_ns",
            of_measured(|found| found.end_ns - found.start_ns),
        ),
        ("round_trips_ns", of_measured(|found| found.in_flight_ns)),
        ("client_writes", of_measured(|found| found.writes)),
        ("client_reads", of_measured(|found| found.reads)),
        (
            "fewest_messages_of_a_worker",
            of_workers.iter().copied().min().unwrap_or(0),
        ),
        (
            "most_messages_of_a_worker",
            of_workers.iter().copied().max().unwrap_or(0),
        ),
        ("client_cpu_ns", of_measured(|found| found.usage.cpu_ns)),
        ("client_polled_ns", of_measured(|found| found.polled_ns)),
        (
            "client_voluntary_context_switches",
            of_measured(|found| found.usage.voluntary_context_switches),
        ),
        (
            "client_involuntary_context_switches",
            of_measured(|found| found.usage.involuntary_context_switches),
        ),
    ]
}

fn resolved(host: &str, port: u16) -> PyResult<SocketAddr> {
    let mut found = (host, port).to_socket_addrs().or_os_error()?;
    found
        .next()
        .ok_or_else(|| PyOSError::new_err(format!("{host} has no address")))
}

/// Frozen, so that another thread may ask for its strangers while it serves.
#[pyclass(module = "tinygram_bench._native", frozen)]
pub struct EchoServer {
    inner: Mutex<server::EchoServer>,
    strangers: Arc<AtomicU64>,
    port: u16,
}

#[pymethods]
impl EchoServer {
    #[new]
    #[allow(clippy::too_many_arguments)] // Keywords in Python.
    #[pyo3(signature = (port, buffer_bytes, message_bytes=None, strategy=None, congestion_control=None, sends_whole_buffer=false, host="127.0.0.1", max_connections=None, client=None))]
    fn new(
        port: u16,
        buffer_bytes: usize,
        message_bytes: Option<usize>,
        strategy: Option<(String, Option<u64>)>,
        congestion_control: Option<String>,
        sends_whole_buffer: bool,
        host: &str,
        max_connections: Option<usize>,
        client: Option<&Bound<'_, Admission>>,
    ) -> PyResult<Self> {
        let reply = match (message_bytes, strategy, sends_whole_buffer) {
            (None, None, is_whole_buffer) => Reply::PerRead { is_whole_buffer },
            (Some(message_bytes), Some((name, duration_ns)), false) => Reply::PerMessage {
                message_bytes,
                knobs: Knobs::new(strategy_of(&name, duration_ns)?),
            },
            _ => {
                return Err(PyValueError::new_err(
                    "to reply to each message takes its size and a strategy, and no fault",
                ));
            }
        };
        let settings = server::Settings {
            address: SocketAddr::new(ip_of(host)?, port),
            reply,
            buffer_bytes,
            congestion_control,
            max_connections,
            client: admission::of(client),
        };
        let inner = server::EchoServer::listen(&settings).or_os_error()?;
        Ok(Self {
            port: inner.port().or_os_error()?,
            strangers: inner.strangers(),
            inner: Mutex::new(inner),
        })
    }

    #[getter]
    fn port(&self) -> u16 {
        self.port
    }

    #[getter]
    fn strangers(&self) -> u64 {
        self.strangers.load(Relaxed)
    }

    #[pyo3(signature = (stop_fd=None))]
    fn serve(&self, py: Python<'_>, stop_fd: Option<RawFd>) -> PyResult<Counters> {
        let serve = || {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.serve(stop_fd).map(|()| inner.counts())
        };
        let counts = py.detach(serve).or_os_error()?;
        Ok(vec![
            ("server_connections", counts.accepted),
            ("server_evicted_connections", counts.evicted_connections),
            ("server_most_connections", counts.most_connections),
        ])
    }
}
