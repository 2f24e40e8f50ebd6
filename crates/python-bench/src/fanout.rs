use crate::{
    address::ip_of,
    admission::{self, Admission},
    errors::{OrOsError, os_error},
    histogram::Histogram,
    stream::pacer::{SliceTable, schedule as schedule_of, slices as slices_of},
};
use pyo3::{
    exceptions::{PyOSError, PyValueError},
    prelude::*,
    types::PyBytes,
};
use std::os::fd::{AsRawFd, RawFd};
use tinygram_load::{
    fanout::{
        clock::Difference,
        publisher,
        subscribers::{self, Counts},
        tally::Turns,
    },
    messages,
    schedule::Schedule,
    sends::{self, SendError, Sends},
};
use tinygram_net::timer::TimerFd;

type Counters = Vec<(&'static str, u64)>;
/// Rate, arrival, burst, duration and seed, as `Schedule` takes them.
type Pace = (f64, String, u64, u64, u64);

fn turns_of(table: SliceTable, open_ns: u64, start_ns: u64) -> PyResult<Turns> {
    let (slices, settling_ns) = slices_of(table)?;
    Ok(Turns {
        slices,
        settling_ns,
        open_ns,
        start_ns,
    })
}

fn publish_error(error: SendError) -> PyErr {
    match error {
        SendError::Failed(error) => os_error(error),
        told => PyOSError::new_err(told.told("subscriber")),
    }
}

#[pyclass(module = "tinygram_bench._native", frozen)]
pub struct Publications {
    inner: messages::Publications,
}

#[pymethods]
impl Publications {
    #[new]
    fn new(seed: u64, message_bytes: usize) -> PyResult<Self> {
        let inner = messages::Publications::new(seed, message_bytes).ok_or_else(|| {
            let least = messages::HEADER_BYTES;
            PyValueError::new_err(format!("a publication has {least} bytes at least"))
        })?;
        Ok(Self { inner })
    }

    fn message<'py>(&self, py: Python<'py>, number: u64, due_ns: u64) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.message(number, due_ns))
    }
}

fn scheduled((rate_per_s, arrival, burst, duration_ns, seed): &Pace) -> PyResult<Schedule> {
    schedule_of(*rate_per_s, arrival, *burst, *duration_ns, *seed)
}

#[pyfunction]
#[pyo3(signature = (pace, table))]
pub fn publications_due_ns(pace: Pace, table: SliceTable) -> PyResult<Vec<u64>> {
    let (slices, _) = slices_of(table)?;
    let schedule = scheduled(&pace)?;
    Ok(schedule.in_slices(&slices).all_due_ns().collect())
}

#[pyclass(module = "tinygram_bench._native")]
pub struct Subscribers {
    inner: subscribers::Subscribers,
}

#[pymethods]
impl Subscribers {
    #[new]
    #[pyo3(signature = (publications, congestion_control, host, publisher=None))]
    fn new(
        publications: &Publications,
        congestion_control: &str,
        host: &str,
        publisher: Option<&Bound<'_, Admission>>,
    ) -> PyResult<Self> {
        let publications = publications.inner.clone();
        let (host, publisher) = (ip_of(host)?, admission::of(publisher));
        let inner =
            subscribers::Subscribers::listen(host, congestion_control, publications, publisher)
                .or_os_error()?;
        Ok(Self { inner })
    }

    #[getter]
    fn port(&self) -> PyResult<u16> {
        self.inner.port().or_os_error()
    }

    fn warm_up(
        &mut self,
        py: Python<'_>,
        count: usize,
        warm_up: u64,
        patience_ns: u64,
    ) -> PyResult<()> {
        let inner = &mut self.inner;
        py.detach(|| inner.warm_up(count, warm_up, patience_ns))
            .map_err(|error| PyOSError::new_err(error.to_string()))
    }

    #[pyo3(signature = (table, open_ns, start_ns, give_up_ns, difference=None))]
    fn receive(
        &mut self,
        py: Python<'_>,
        table: SliceTable,
        open_ns: u64,
        start_ns: u64,
        give_up_ns: u64,
        difference: Option<(u64, i64, f64)>,
    ) -> PyResult<Counters> {
        let turns = turns_of(table, open_ns, start_ns)?;
        let difference = difference.map(|(since_ns, offset_ns, rate)| Difference {
            since_ns,
            offset_ns,
            rate,
        });
        let inner = &mut self.inner;
        let Counts {
            reads,
            bytes,
            usage,
            publications,
            strangers,
        } = py
            .detach(|| inner.receive(turns, difference, give_up_ns))
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(vec![
            ("reads", reads),
            ("bytes", bytes),
            ("publications", publications),
            ("strangers", strangers),
            ("early_ns", self.inner.tally().early_ns()),
            ("receiver_cpu_ns", usage.cpu_ns),
            (
                "receiver_voluntary_context_switches",
                usage.voluntary_context_switches,
            ),
            (
                "receiver_involuntary_context_switches",
                usage.involuntary_context_switches,
            ),
        ])
    }

    fn slices(&self) -> Vec<(u64, u64, u64)> {
        let of_slices = self.inner.tally().of_slices().iter();
        of_slices
            .map(|one| (one.messages, one.all_messages, one.last_ns))
            .collect()
    }

    fn latencies_of_slices<'py>(
        &self,
        py: Python<'py>,
    ) -> Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let bytes_of = |values_ns: &[u32]| {
            let bytes: Vec<u8> = values_ns.iter().flat_map(|ns| ns.to_ne_bytes()).collect();
            PyBytes::new(py, &bytes)
        };
        let of_slices = self.inner.tally().of_slices().iter();
        of_slices
            .map(|one| (bytes_of(&one.latencies_ns), bytes_of(&one.lasts_ns)))
            .collect()
    }

    fn latencies(&self) -> Histogram {
        let inner = self.inner.tally().latencies().clone();
        Histogram { inner }
    }

    fn lasts(&self) -> Histogram {
        let inner = self.inner.tally().lasts().clone();
        Histogram { inner }
    }
}

#[pyclass(module = "tinygram_bench._native")]
pub struct NativePublisher {
    sends: Box<dyn Sends>,
}

// Its methods take it mutably, so that no two threads send at a time.
#[pymethods]
impl NativePublisher {
    #[new]
    fn new(fds: Vec<RawFd>, is_ring: bool) -> PyResult<Self> {
        let sends = sends::over(fds, is_ring).or_os_error()?;
        Ok(Self { sends })
    }

    fn warm_up(
        &mut self,
        py: Python<'_>,
        publications: &Publications,
        count: u64,
        patience_ns: u64,
    ) -> PyResult<()> {
        let (sends, publications) = (&mut *self.sends, &publications.inner);
        py.detach(|| publisher::warm_up(sends, publications, count, patience_ns))
            .map_err(publish_error)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "what, when, and until when: named by the caller"
    )]
    #[pyo3(signature = (publications, first, table, open_ns, start_ns, pace, burst, patience_ns))]
    fn publish(
        &mut self,
        py: Python<'_>,
        publications: &Publications,
        first: u64,
        table: SliceTable,
        open_ns: u64,
        start_ns: u64,
        pace: Option<Pace>,
        burst: u64,
        patience_ns: u64,
    ) -> PyResult<u64> {
        let turns = turns_of(table, open_ns, start_ns)?;
        let pace = match pace {
            None => publisher::Pace::Closed(burst),
            Some(pace) => publisher::Pace::Scheduled(scheduled(&pace)?),
        };
        let (sends, publications) = (&mut *self.sends, &publications.inner);
        py.detach(|| publisher::publish(sends, publications, first, &turns, pace, patience_ns))
            .map_err(publish_error)
    }

    fn calls(&self) -> (u64, u64) {
        let calls = self.sends.calls();
        (calls.writes, calls.would_block)
    }
}

/// A timer of CLOCK_MONOTONIC that an event loop can watch.
#[pyclass(module = "tinygram_bench._native", frozen)]
pub struct Timer {
    inner: TimerFd,
}

#[pymethods]
impl Timer {
    #[new]
    fn new() -> PyResult<Self> {
        let inner = TimerFd::new().or_os_error()?;
        Ok(Self { inner })
    }

    fn fileno(&self) -> RawFd {
        self.inner.as_raw_fd()
    }

    fn set(&self, at_ns: u64) -> PyResult<()> {
        self.inner.set(at_ns).or_os_error()
    }

    fn take(&self) -> PyResult<bool> {
        self.inner.take().or_os_error()
    }
}
