use pyo3::{exceptions::PyValueError, prelude::*};
use std::time::Duration;
use tinygram_core::Strategy;

/// A strategy as `tinygram.Strategy` has it: its name, and how long it holds in nanoseconds, if it does.
pub fn strategy_of(name: &str, hold_ns: Option<u64>) -> PyResult<Strategy> {
    match (name, hold_ns) {
        ("nodelay", None) => Ok(Strategy::NoDelay),
        ("nagle", None) => Ok(Strategy::Nagle),
        ("tick", None) => Ok(Strategy::Tick),
        ("combine", None) => Ok(Strategy::Combine),
        ("adaptive", None) => Ok(Strategy::Adaptive),
        ("coalesce", Some(hold_ns)) => Ok(Strategy::Coalesce {
            hold: Duration::from_nanos(hold_ns),
        }),
        _ => Err(PyValueError::new_err(format!(
            "unknown strategy {name:?}: it must be tinygram.adaptive, tick, combine, nodelay, nagle \
             or coalesce(hold_us)"
        ))),
    }
}
