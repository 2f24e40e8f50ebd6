//! Both native sides of the bench's `rr`, and the checks of its Python sides.

mod call_book;
mod call_log;

pub use call_book::CallBook;
pub use call_log::CallLog;

use crate::{
    address::ip_of,
    admission::{self, Admission},
    errors::OrOsError,
    histogram::Histogram,
};
use pyo3::{
    exceptions::{PyOSError, PyRuntimeError, PyValueError},
    prelude::*,
    types::PyBytes,
};
use std::{net::SocketAddr, os::fd::RawFd};
use tinygram_load::{
    messages::{CallContent as Content, RequestReader as Reader},
    rr as native,
    schedule::{Agenda, Span},
};

type Counters = Vec<(&'static str, u64)>;
type Histograms = Vec<(&'static str, Histogram)>;
/// The fields of `Tally`: counters, histograms and slices.
type TallyValues = (Counters, Histograms, Vec<SliceValues>);

fn value_error(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pyclass(module = "tinygram_bench._native", frozen)]
pub struct CallContent {
    inner: Content,
}

#[pymethods]
impl CallContent {
    #[new]
    #[pyo3(signature = (request_bytes, reply_bytes, seed=None, *, has_any_replies=false))]
    fn new(
        request_bytes: u64,
        reply_bytes: u64,
        seed: Option<u64>,
        has_any_replies: bool,
    ) -> PyResult<Self> {
        let content = match seed {
            Some(seed) => Content::generate(seed, request_bytes, reply_bytes),
            None => Content::of_any_bytes(request_bytes, reply_bytes),
        }
        .map_err(value_error)?;
        let inner = if has_any_replies {
            content.with_any_replies()
        } else {
            content
        };
        Ok(Self { inner })
    }

    #[getter]
    fn request_count(&self) -> u64 {
        self.inner.request_count()
    }

    fn request<'py>(&self, py: Python<'py>, index: u64) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.request(index))
    }

    fn replies<'py>(
        &self,
        py: Python<'py>,
        first: u64,
        count: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let reply_bytes = self.inner.reply_bytes();
        let length = count
            .checked_mul(reply_bytes as usize)
            .ok_or_else(|| value_error(format!("{count} replies are too many")))?;
        PyBytes::new_with(py, length, |target| {
            self.inner.fill_replies(first * reply_bytes, target);
            Ok(())
        })
    }

    fn is_reply(&self, index: u64, data: &[u8]) -> bool {
        let reply_bytes = self.inner.reply_bytes();
        data.len() as u64 == reply_bytes && self.inner.is_reply(index * reply_bytes, data)
    }
}

#[pyclass(module = "tinygram_bench._native")]
pub struct RequestReader {
    content: Py<CallContent>,
    inner: Reader,
}

#[pymethods]
impl RequestReader {
    #[new]
    fn new(content: Py<CallContent>) -> Self {
        Self {
            content,
            inner: Reader::default(),
        }
    }

    fn push(&mut self, data: &[u8]) -> PyResult<u64> {
        self.inner
            .push(&self.content.get().inner, data)
            .map_err(value_error)
    }

    #[getter]
    fn is_between_requests(&self) -> bool {
        self.inner.is_between_requests(&self.content.get().inner)
    }
}

#[pyclass(module = "tinygram_bench._native")]
pub struct RrServer {
    inner: Option<native::Server>,
    port: u16,
}

#[pymethods]
impl RrServer {
    #[new]
    #[allow(clippy::too_many_arguments)] // Keywords in Python.
    #[pyo3(signature = (content, *, port, backlog, is_nodelay, is_quickack, congestion_control, max_connections, idle_ns, host="127.0.0.1", client=None))]
    fn new(
        content: &CallContent,
        port: u16,
        backlog: i32,
        is_nodelay: bool,
        is_quickack: bool,
        congestion_control: String,
        max_connections: usize,
        idle_ns: u64,
        host: &str,
        client: Option<&Bound<'_, Admission>>,
    ) -> PyResult<Self> {
        let options = native::ServerOptions {
            backlog,
            is_nodelay,
            is_quickack,
            max_connections,
            idle_ns,
            congestion_control,
            client: admission::of(client),
        };
        let address = SocketAddr::new(ip_of(host)?, port);
        let inner =
            native::Server::listen(address, content.inner.clone(), options).or_os_error()?;
        Ok(Self {
            port: inner.port().or_os_error()?,
            inner: Some(inner),
        })
    }

    #[getter]
    fn port(&self) -> u16 {
        self.port
    }

    fn run(&mut self, py: Python<'_>, stop_fd: RawFd) -> PyResult<Counters> {
        let Some(inner) = self.inner.take() else {
            return Err(PyRuntimeError::new_err("a server runs once"));
        };
        let counts = py.detach(|| inner.run(stop_fd)).or_os_error()?;
        Ok(vec![
            ("server_connections", counts.accepted),
            ("server_requests", counts.requests),
            ("server_split_requests", counts.split_requests),
            ("server_rest_ns", counts.rest_ns),
            ("server_reads", counts.reads),
            ("server_writes", counts.writes),
            ("server_short_requests", counts.short_requests),
            ("server_wrong_requests", counts.wrong_requests),
            ("server_failed_connections", counts.failed_connections),
            ("server_idle_connections", counts.idle_connections),
            ("server_evicted_connections", counts.evicted_connections),
            ("server_failed_accepts", counts.failed_accepts),
            ("server_most_connections", counts.most_connections),
            ("strangers", counts.strangers),
        ])
    }
}

/// The fields of `SliceTally`.
type SliceValues = (Vec<u64>, u64, u64, u64);
/// A span: its start, in a slice when it has settled, its end, calls of each caller at most, and the case's
/// own time at its start.
type SpanValues = (u64, Option<u64>, u64, Option<u64>, u64);

fn span_of(values: SpanValues) -> Span {
    let (start_ns, settled_ns, end_ns, calls, own_ns) = values;
    Span {
        start_ns,
        end_ns,
        calls,
        settled_ns,
        own_ns,
    }
}

#[pyclass(module = "tinygram_bench._native")]
pub struct RrCallers {
    inner: Option<native::Callers>,
    agenda: Option<Agenda>,
}

#[pymethods]
impl RrCallers {
    #[new]
    #[allow(clippy::too_many_arguments)] // Keywords in Python.
    #[pyo3(signature = (content, *, host, port, callers, connections, depth, sends_per_request, is_nodelay, congestion_control, warm_up_calls, give_up_ns, own=None, is_ring=false))]
    fn new(
        py: Python<'_>,
        content: &CallContent,
        host: &str,
        port: u16,
        callers: usize,
        connections: &str,
        depth: usize,
        sends_per_request: usize,
        is_nodelay: bool,
        congestion_control: String,
        warm_up_calls: u64,
        give_up_ns: u64,
        own: Option<&Bound<'_, Admission>>,
        is_ring: bool,
    ) -> PyResult<Self> {
        let connections = match connections {
            "per-request" => native::Connections::PerRequest,
            "per-caller" => native::Connections::PerCaller,
            "shared" => native::Connections::Shared { depth },
            "many" => native::Connections::Many { is_ring },
            other => {
                return Err(value_error(format!(
                    "unknown connections {other:?}: per-request, per-caller, shared or many"
                )));
            }
        };
        let sends = sends_per_request as u64;
        if callers == 0 || depth == 0 || sends == 0 || sends > content.inner.request_bytes() {
            return Err(value_error(
                "callers, depth and sends_per_request are at least 1, and no write is empty",
            ));
        }
        if content.inner.request_count() == 0 {
            return Err(value_error("callers need a seed, to know what they send"));
        }
        let options = native::CallOptions {
            address: SocketAddr::new(ip_of(host)?, port),
            callers,
            connections,
            sends_per_request,
            is_nodelay,
            congestion_control,
            warm_up_calls,
            admission: admission::of(own),
        };
        let content = content.inner.clone();
        let inner = py
            .detach(|| native::Callers::prepare(options, content, give_up_ns))
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(Self {
            inner: Some(inner),
            agenda: None,
        })
    }

    #[getter]
    fn warm_up_call_ns(&self) -> u64 {
        self.inner
            .as_ref()
            .map_or(0, native::Callers::warm_up_call_ns)
    }

    fn keep_to(&mut self, book: PyRef<'_, CallBook>) {
        self.agenda = Some(book.agenda());
    }

    fn run(&mut self, py: Python<'_>, spans: Vec<SpanValues>) -> PyResult<TallyValues> {
        let Some(inner) = self.inner.take() else {
            return Err(PyRuntimeError::new_err("callers run once"));
        };
        let spans: Vec<Span> = spans.into_iter().map(span_of).collect();
        let agenda = self.agenda.take();
        let tally = py
            .detach(|| match agenda {
                None => inner.run(&spans),
                Some(agenda) => inner.run_at_a_rate(&spans, agenda),
            })
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(tally_values(tally))
    }
}

fn tally_values(tally: native::Tally) -> TallyValues {
    let counters = vec![
        ("calls", tally.calls),
        ("call_time_ns", tally.call_time_ns),
        ("connect_time_ns", tally.connect_time_ns),
        ("callers_time_ns", tally.callers_time_ns),
        ("last_ns", tally.last_ns),
        ("calls_not_begun", tally.start_delays.not_begun),
        ("behind_ns", tally.start_delays.behind_ns),
    ];
    let histograms = [
        ("call", tally.call),
        ("connect", tally.connect),
        ("start_delay", tally.start_delays.times),
    ];
    let slices = tally.slices.into_iter().map(|slice| {
        (
            slice.calls_ns,
            slice.callers_time_ns,
            slice.last_ns,
            slice.calls,
        )
    });
    (
        counters,
        histograms
            .into_iter()
            .map(|(name, inner)| (name, Histogram { inner }))
            .collect(),
        slices.collect(),
    )
}
