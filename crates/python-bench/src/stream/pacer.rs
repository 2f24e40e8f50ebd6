use crate::{errors::OrOsError, histogram::Histogram};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::{num::NonZeroU64, ops::Range};
use tinygram_load::{
    schedule::{Arrival, Schedule, Slices},
    stream::pacer,
};

/// The schedule that both the pacer and the matching are made from.
pub fn schedule(
    rate_per_s: f64,
    arrival: &str,
    burst: u64,
    duration_ns: u64,
    seed: u64,
) -> PyResult<Schedule> {
    let arrival = match arrival {
        "constant" => Arrival::Constant,
        "poisson" => Arrival::Poisson,
        "onoff" => Arrival::OnOff,
        other => {
            return Err(PyValueError::new_err(format!(
                "unknown arrival {other:?}: constant, poisson or onoff"
            )));
        }
    };
    Schedule::new(rate_per_s, arrival, burst, duration_ns, seed)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// When the slices of a case begin after the start, how long each is, and how much of it settles.
pub type SliceTable = (Vec<u64>, u64, u64);

/// The slices, and how much of each settles.
pub fn slices(table: SliceTable) -> PyResult<(Slices, u64)> {
    let (begins_ns, slice_ns, settling_ns) = table;
    let slices = Slices::new(begins_ns, slice_ns)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((slices, settling_ns))
}

#[pyfunction]
pub fn scheduled_messages(
    rate_per_s: f64,
    arrival: &str,
    burst: u64,
    duration_ns: u64,
    seed: u64,
) -> PyResult<u64> {
    Ok(schedule(rate_per_s, arrival, burst, duration_ns, seed)?.messages())
}

#[pyclass(module = "tinygram_bench._native")]
pub struct Pacer {
    pub inner: pacer::Pacer,
}

#[pymethods]
impl Pacer {
    #[new]
    #[expect(
        clippy::too_many_arguments,
        reason = "the schedule's five, and four of the pacer"
    )]
    #[pyo3(signature = (rate_per_s, arrival, burst, duration_ns, seed, share=None, spin="alone", slices=None, push_out_fd=None))]
    fn new(
        rate_per_s: f64,
        arrival: &str,
        burst: u64,
        duration_ns: u64,
        seed: u64,
        share: Option<(u64, NonZeroU64)>,
        spin: &str,
        slices: Option<SliceTable>,
        push_out_fd: Option<i32>,
    ) -> PyResult<Self> {
        let mut whole = schedule(rate_per_s, arrival, burst, duration_ns, seed)?;
        let slices = slices.map(self::slices).transpose()?;
        if let Some((slices, _)) = &slices {
            whole = whole.in_slices(slices);
        }
        let (schedule, is_shared) = match share {
            None => (whole, false),
            Some((first, step)) => (whole.share(first, step.get()), true),
        };
        let pacer = pacer::Pacer::new(schedule);
        let inner = match (spin, is_shared) {
            ("noted", _) => pacer.without_spinning().with_notes(),
            ("never", _) | ("alone" | "yielding", true) => pacer.without_spinning(),
            ("yielding", false) => pacer.yielding(),
            ("alone", false) => pacer,
            (other, _) => {
                return Err(PyValueError::new_err(format!(
                    "unknown spin {other:?}: alone, yielding, never or noted"
                )));
            }
        };
        Ok(Self {
            inner: match slices {
                None => inner,
                Some((slices, settling_ns)) => inner.in_slices(slices, settling_ns, push_out_fd),
            },
        })
    }

    fn start(&mut self, start_ns: u64) {
        self.inner.start(start_ns);
    }

    #[pyo3(signature = (until_ns=None))]
    fn wait(&mut self, py: Python<'_>, until_ns: Option<u64>) -> (u64, u64) {
        ends(py.detach(|| self.inner.wait(until_ns)))
    }

    fn take_due(&mut self) -> (u64, u64) {
        ends(self.inner.take_due())
    }

    fn timer_fd(&mut self) -> PyResult<i32> {
        self.inner.timer_fd().or_os_error()
    }

    fn arm(&mut self, spins: bool) -> PyResult<bool> {
        self.inner.arm(spins).or_os_error()
    }

    fn on_timer(&mut self, py: Python<'_>) -> PyResult<(u64, u64)> {
        Ok(ends(py.detach(|| self.inner.on_timer()).or_os_error()?))
    }

    fn errors(&self) -> Histogram {
        Histogram {
            inner: self.inner.errors().clone(),
        }
    }

    fn late_ns(&self) -> Vec<u32> {
        self.inner.late_ns().to_vec()
    }

    fn spin_cpu_ns_by_slice(&self) -> Vec<u64> {
        self.inner.spin_cpu_ns_by_slice().to_vec()
    }

    fn errors_by_slice_ns(&self) -> Vec<Vec<u32>> {
        self.inner.errors_by_slice_ns()
    }

    #[getter]
    fn is_finished(&self) -> bool {
        self.inner.next_due_ns().is_none()
    }

    #[getter]
    fn releases(&self) -> u64 {
        self.inner.releases()
    }

    #[getter]
    fn last_due_ns(&self) -> u64 {
        self.inner.last_due_ns()
    }

    #[getter]
    fn spin_cpu_ns(&self) -> u64 {
        self.inner.spin_cpu_ns()
    }
}

fn ends(range: Range<u64>) -> (u64, u64) {
    (range.start, range.end)
}
