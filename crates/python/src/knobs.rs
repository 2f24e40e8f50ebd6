use pyo3::{exceptions::PyValueError, prelude::*};
use std::time::Duration;
use tinygram_core::{Coalescer, Reason, Stats};

use crate::{histogram::Histogram, strategy::strategy_of};

#[pyclass(frozen, module = "tinygram._native")]
pub struct Knobs {
    inner: tinygram_core::Knobs,
}

#[pymethods]
impl Knobs {
    #[new]
    #[pyo3(signature = (strategy, duration_ns, max_bytes, max_hold_ns=None, max_buffered_bytes=None))]
    fn new(
        strategy: &str,
        duration_ns: Option<u64>,
        max_bytes: usize,
        max_hold_ns: Option<u64>,
        max_buffered_bytes: Option<usize>,
    ) -> PyResult<Self> {
        let mut knobs = tinygram_core::Knobs::new(strategy_of(strategy, duration_ns)?);
        knobs.max_bytes = max_bytes;
        knobs.max_hold = max_hold_ns.map(Duration::from_nanos);
        knobs.max_buffered_bytes = max_buffered_bytes;
        match knobs.checked() {
            Ok(inner) => Ok(Self { inner }),
            Err(error) => Err(PyValueError::new_err(error.to_string())),
        }
    }
}

impl Knobs {
    pub fn inner(&self) -> tinygram_core::Knobs {
        self.inner
    }

    pub fn coalescer(&self) -> Coalescer {
        Coalescer::new(self.inner).expect("checked when they were made")
    }

    /// A coalescer for an event loop that does not say when it is about to wait.
    pub fn coalescer_of_foreign_loop(&self) -> Coalescer {
        Coalescer::of_foreign_loop(self.inner).expect("checked when they were made")
    }

    /// A coalescer for a loop that says when it is about to wait.
    pub fn coalescer_of_resting_loop(&self) -> Coalescer {
        Coalescer::of_resting_loop(self.inner).expect("checked when they were made")
    }
}

/// The parts of [`Stats`]: messages, writes, bytes, overruns, flushes by reason, holds.
pub type StatsParts = (u64, u64, u64, u64, Vec<(&'static str, u64)>, Histogram);

pub fn stats_parts(stats: &Stats) -> StatsParts {
    let flushes = Reason::ALL.iter();
    (
        stats.messages,
        stats.writes,
        stats.bytes,
        stats.overruns,
        flushes.map(|it| (it.name(), stats.flushes(*it))).collect(),
        Histogram {
            inner: stats.holds(),
        },
    )
}
