use pyo3::{exceptions::PyValueError, prelude::*};

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

    #[staticmethod]
    fn from_base64(text: &str) -> PyResult<Self> {
        match tinygram_core::Histogram::from_base64(text) {
            Ok(inner) => Ok(Self { inner }),
            Err(error) => Err(PyValueError::new_err(error.to_string())),
        }
    }

    fn to_base64(&self) -> String {
        self.inner.to_base64()
    }

    fn record(&mut self, value_ns: u64) {
        self.inner.record(value_ns);
    }

    fn merge(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) {
        // Copied, so that a histogram may be merged into itself.
        let values = other.borrow().inner.clone();
        slf.borrow_mut().inner.merge(&values);
    }

    fn subtract(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        let values = other.borrow().inner.clone();
        slf.borrow_mut()
            .inner
            .subtract(&values)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn percentile_ns(&self, percentile: f64) -> PyResult<u64> {
        if !(0.0..=100.0).contains(&percentile) {
            return Err(PyValueError::new_err(format!(
                "percentile {percentile} is outside 0 … 100"
            )));
        }
        Ok(self.inner.percentile_ns(percentile))
    }

    #[getter]
    fn count(&self) -> u64 {
        self.inner.count()
    }

    #[getter]
    fn min_ns(&self) -> u64 {
        self.inner.min_ns()
    }

    #[getter]
    fn max_ns(&self) -> u64 {
        self.inner.max_ns()
    }

    #[getter]
    fn mean_ns(&self) -> f64 {
        self.inner.mean_ns()
    }
}
