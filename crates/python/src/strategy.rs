use pyo3::{exceptions::PyValueError, prelude::*};
use std::time::Duration;
use tinygram_core::Strategy;

/// The strategy that has this name in `tinygram.Strategy`; `duration_ns` is its hold or its price in
/// nanoseconds, if it has one.
pub fn strategy_of(name: &str, duration_ns: Option<u64>) -> PyResult<Strategy> {
    Strategy::named(name, duration_ns.map(Duration::from_nanos)).ok_or_else(|| {
        PyValueError::new_err(format!(
            "unknown strategy {name:?}, or not with such a duration"
        ))
    })
}
