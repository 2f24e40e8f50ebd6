use crate::{
    address::ipv4_of,
    descriptor::own,
    errors::{OrOsError, os_error},
    histogram::Histogram,
};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::{
    io,
    os::fd::{AsFd, RawFd},
};
use tinygram_link::model::{ETHERNET_BYTES, LinkSpec, RTT_FLOOR_NS};

type Counters = Vec<(String, u64)>;
/// One way, jitter (both in ns), bits per second, loss, queue, MTU (both in bytes).
type Direction = (u64, u64, Option<u64>, f64, u64, u32);

#[pyclass(module = "tinygram_bench._native")]
pub struct LinkRelay {
    inner: tinygram_link::Relay,
}

#[pymethods]
impl LinkRelay {
    #[new]
    fn new(
        near_fd: RawFd,
        far_fd: RawFd,
        each_way: Direction,
        seed: u64,
        framing: &str,
    ) -> PyResult<Self> {
        let framing = match framing {
            "tun" => tinygram_link::Framing::Tun,
            "tun-offload" => tinygram_link::Framing::TunOffload,
            "ethernet" => tinygram_link::Framing::Ethernet,
            other => {
                return Err(PyValueError::new_err(format!(
                    "unknown framing {other:?}: tun, tun-offload or ethernet"
                )));
            }
        };
        let devices = [own(near_fd)?, own(far_fd)?];
        let made = tinygram_link::Relay::new(devices, spec(each_way), seed, framing);
        let inner = made.map_err(|error| match error {
            tinygram_link::RelayError::Link(error) => PyValueError::new_err(error.to_string()),
            tinygram_link::RelayError::Descriptors(error) => os_error(error),
        })?;
        Ok(Self { inner })
    }

    fn start(&mut self) -> PyResult<()> {
        self.inner.start().or_os_error()
    }

    fn calibrate(
        &self,
        py: Python<'_>,
        near_namespace_fd: RawFd,
        far_namespace_fd: RawFd,
        far_address: &str,
    ) -> PyResult<Counters> {
        let (near, far) = (own(near_namespace_fd)?, own(far_namespace_fd)?);
        let far_address = ipv4_of(far_address)?;
        let calibrate =
            || tinygram_link::calibrate(&self.inner, near.as_fd(), far.as_fd(), far_address);
        let found = until_not_interrupted(py, calibrate)?;
        let told = [
            ("asked_rtt_ns", found.asked_rtt_ns),
            ("found_rtt_ns", found.found_rtt_ns),
            ("left_rtt_ns", found.left_rtt_ns),
            ("excess_ns", found.excess_ns),
        ];
        Ok(told.map(|(name, value)| (name.to_owned(), value)).into())
    }

    // These wait until the relay's thread is done with a batch, which makes system calls.

    fn set_excess_ns(&self, py: Python<'_>, excess_ns: u64) {
        py.detach(|| self.inner.set_excess_ns(excess_ns));
    }

    fn counters(&self, py: Python<'_>) -> Counters {
        let report = py.detach(|| self.inner.report());
        let directions = ["near_to_far", "far_to_near"];
        let mut counters: Counters = directions
            .into_iter()
            .zip(report.counts)
            .flat_map(|(direction, counts)| {
                named(counts).map(|(name, value)| (format!("{direction}_{name}"), value))
            })
            .collect();
        let errno = report.failed_errno.unwrap_or(0).unsigned_abs();
        let tinygram_link::Departures {
            data_packets,
            after_arrival,
            alone,
        } = report.departures;
        counters.push(("near_to_far_data_packets".to_owned(), data_packets));
        counters.push(("near_to_far_data_after_arrival".to_owned(), after_arrival));
        counters.push(("near_to_far_data_alone".to_owned(), alone));
        counters.push(("relay_cpu_ns".to_owned(), report.cpu_ns));
        counters.push(("relay_watched_ns".to_owned(), report.stops.watched_ns));
        counters.push(("relay_stopped_ns".to_owned(), report.stops.stopped_ns));
        counters.push(("relay_stops".to_owned(), report.stops.count));
        counters.push(("relay_failed_errno".to_owned(), errno.into()));
        counters
    }

    fn take_lateness(&self, py: Python<'_>) -> Histogram {
        Histogram {
            inner: py.detach(|| self.inner.take_lateness()),
        }
    }

    fn take_stood_still_ns(&self, py: Python<'_>) -> Vec<(u64, u64)> {
        py.detach(|| self.inner.take_stood_still_ns())
    }

    fn stop(&mut self, py: Python<'_>) {
        py.detach(|| self.inner.stop());
    }
}

fn named(counts: tinygram_link::Counts) -> [(&'static str, u64); 8] {
    [
        ("packets", counts.packets),
        ("bytes", counts.bytes),
        ("lost", counts.lost),
        ("full", counts.full),
        ("overflow", counts.overflow),
        ("refused", counts.refused),
        ("ignored", counts.ignored),
        ("missed", counts.missed),
    ]
}

fn spec(direction: Direction) -> LinkSpec {
    let (one_way_ns, jitter_ns, bandwidth_bits_per_s, loss, queue_bytes, mtu_bytes) = direction;
    LinkSpec {
        one_way_ns,
        jitter_ns,
        bandwidth_bits_per_s,
        loss,
        queue_bytes,
        mtu_bytes,
    }
}

#[pyfunction]
pub fn ping_pong_ns(
    py: Python<'_>,
    near_namespace_fd: RawFd,
    far_namespace_fd: RawFd,
    far_address: &str,
    count: usize,
) -> PyResult<Vec<u64>> {
    if !(1..=tinygram_link::MAX_ROUND_TRIPS).contains(&count) {
        return Err(PyValueError::new_err(format!(
            "{count} round trips: 1 to {} are allowed",
            tinygram_link::MAX_ROUND_TRIPS
        )));
    }
    let (near, far) = (own(near_namespace_fd)?, own(far_namespace_fd)?);
    let far_address = ipv4_of(far_address)?;
    until_not_interrupted(py, || {
        tinygram_link::ping_pong(near.as_fd(), far.as_fd(), far_address, count)
    })
}

/// Call again after a signal, unless its handler raises.
fn until_not_interrupted<T: Send>(
    py: Python<'_>,
    act: impl Fn() -> io::Result<T> + Sync,
) -> PyResult<T> {
    loop {
        match py.detach(&act) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => py.check_signals()?,
            done => return done.or_os_error(),
        }
    }
}

#[pyfunction]
pub fn enter_pid_namespace(py: Python<'_>, has_user_namespace: bool) -> PyResult<bool> {
    let os = py.import("os")?;
    let mut refused = None;
    // Python's own fork, which repairs the interpreter in the child.
    let fork = || {
        let child = os
            .call_method0("fork")
            .and_then(|child| child.extract::<libc::pid_t>());
        child.map_err(|error: PyErr| {
            refused = Some(error);
            io::Error::other("fork")
        })
    };
    let entered = tinygram_link::enter(has_user_namespace, fork);
    entered.map_err(|error| refused.unwrap_or_else(|| os_error(error)))
}

#[pyfunction]
pub fn pid_namespace_refusal(py: Python<'_>, has_user_namespace: bool) -> PyResult<Option<i32>> {
    py.detach(|| tinygram_link::refusal(has_user_namespace))
        .or_os_error()
}

/// Constants that backends that are not ours use, too.
pub fn add_constants(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ETHERNET_BYTES", ETHERNET_BYTES)?;
    module.add("OFFLOADED_BYTES", tinygram_link::OFFLOADED_BYTES)?;
    module.add("PING_PONG_BYTES", tinygram_link::PING_PONG_BYTES)?;
    module.add("CALIBRATION_DELAY_NS", tinygram_link::CALIBRATION_DELAY_NS)?;
    module.add(
        "CALIBRATION_BITS_PER_S",
        tinygram_link::CALIBRATION_BITS_PER_S,
    )?;
    module.add("RTT_FLOOR_NS", RTT_FLOOR_NS)
}
