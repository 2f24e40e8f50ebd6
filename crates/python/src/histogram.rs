use pyo3::{exceptions::PyValueError, prelude::*};

/// Times in nanoseconds, each to three significant digits: an HDR histogram
/// (http://hdrhistogram.org).
#[pyclass(module = "tinygram._native")]
pub struct Histogram {
    pub inner: tinygram_core::Histogram,
}

#[pymethods]
impl Histogram {
    #[new]
    fn new() -> Self {
        Self {
            inner: tinygram_core::Histogram::new(),
        }
    }

    /// Read what `to_base64` wrote; raises ValueError when it is no histogram.
    #[staticmethod]
    fn from_base64(text: &str) -> PyResult<Self> {
        match tinygram_core::Histogram::from_base64(text) {
            Ok(inner) => Ok(Self { inner }),
            Err(error) => Err(PyValueError::new_err(error.to_string())),
        }
    }

    /// The standard V2 compressed base64 form (http://hdrhistogram.org).
    fn to_base64(&self) -> String {
        self.inner.to_base64()
    }

    /// Add one value, in nanoseconds; values above one hour count as one hour.
    fn record(&mut self, value_ns: u64) {
        self.inner.record(value_ns);
    }

    /// Add all values of `other`.
    fn merge(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) {
        // Copied, so that a histogram may be merged into itself.
        let values = other.borrow().inner.clone();
        slf.borrow_mut().inner.merge(&values);
    }

    /// Take all values of `other` away; raises ValueError when some are not here.
    fn subtract(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        let values = other.borrow().inner.clone();
        slf.borrow_mut()
            .inner
            .subtract(&values)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The value in nanoseconds that `percentile` (0 to 100) percent of all values do not exceed;
    /// 0 when there is none.
    fn percentile_ns(&self, percentile: f64) -> PyResult<u64> {
        if !(0.0..=100.0).contains(&percentile) {
            return Err(PyValueError::new_err(format!(
                "percentile {percentile} is outside 0 … 100"
            )));
        }
        Ok(self.inner.percentile_ns(percentile))
    }

    /// How many values there are.
    #[getter]
    fn count(&self) -> u64 {
        self.inner.count()
    }

    /// The least value, in nanoseconds; 0 when there is none.
    #[getter]
    fn min_ns(&self) -> u64 {
        self.inner.min_ns()
    }

    /// The greatest value, in nanoseconds; 0 when there is none.
    #[getter]
    fn max_ns(&self) -> u64 {
        self.inner.max_ns()
    }

    /// The arithmetic mean, in nanoseconds; 0 when there is none.
    #[getter]
    fn mean_ns(&self) -> f64 {
        self.inner.mean_ns()
    }
}
