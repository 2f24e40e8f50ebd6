//! Histograms with less detail, for large pages.

use crate::histogram::Histogram;
use pyo3::prelude::*;

#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "a list comes from Python")]
pub fn thinned(histogram: &Histogram, kept_ns: Vec<u64>) -> Histogram {
    Histogram {
        inner: histogram.inner.thinned(&kept_ns),
    }
}
