use pyo3::{exceptions::PyValueError, prelude::*};
use std::time::Duration;
use tinygram_core::Strategy;

/// The strategy of that name, as in `tinygram.Strategy`; `hold_ns`: its hold, if it has one.
pub fn strategy_of(name: &str, hold_ns: Option<u64>) -> PyResult<Strategy> {
    Strategy::named(name, hold_ns.map(Duration::from_nanos)).ok_or_else(|| {
        PyValueError::new_err(format!(
            "unknown strategy {name:?}, or not with such a hold"
        ))
    })
}
