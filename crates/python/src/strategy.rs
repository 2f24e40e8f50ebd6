use pyo3::{exceptions::PyValueError, prelude::*};
use std::time::Duration;
use tinygram_core::Strategy;

/// A strategy as `tinygram.Strategy` has it: its name, and how long it holds in nanoseconds, if it does.
pub fn strategy_of(name: &str, hold_ns: Option<u64>) -> PyResult<Strategy> {
    Strategy::named(name, hold_ns.map(Duration::from_nanos)).ok_or_else(|| {
        PyValueError::new_err(format!(
            "unknown strategy {name:?}, or not with such a hold"
        ))
    })
}
