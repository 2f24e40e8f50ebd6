use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

/// The start of the V2 compressed form (http://hdrhistogram.org); a length and zlib data follow.
const COMPRESSED: u32 = 0x1c84_9314;
/// The most bytes that are decompressed; a full histogram is below 400 kB.
const MAX_BYTES: usize = 4 << 20;

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
    fn from_base64(py: Python<'_>, text: &str) -> PyResult<Self> {
        let bytes = decompressed(py, text).map_err(|error| refusal(py, &error))?;
        let inner = tinygram_core::Histogram::from_bytes(&bytes);
        Ok(Self {
            inner: inner.map_err(|error| PyValueError::new_err(error.to_string()))?,
        })
    }

    /// The standard V2 compressed base64 form (http://hdrhistogram.org).
    fn to_base64<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = PyBytes::new(py, &self.inner.to_bytes());
        let deflated = py.import("zlib")?.call_method1("compress", (bytes,))?;
        let deflated = deflated.cast::<PyBytes>()?.as_bytes();
        let length = u32::try_from(deflated.len())?;
        let mut whole = COMPRESSED.to_be_bytes().to_vec();
        whole.extend_from_slice(&length.to_be_bytes());
        whole.extend_from_slice(deflated);
        let text = py.import("base64")?.call_method1("b64encode", (whole,))?;
        text.call_method1("decode", ("ascii",))
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

    /// Subtract all values of `other`; raises ValueError when some are not here.
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

/// The V2 form from a V2 compressed one, by Python's own zlib: a decompressor of our own would be an
/// eighth of the module.
fn decompressed(py: Python<'_>, text: &str) -> PyResult<Vec<u8>> {
    if text.len() > MAX_BYTES {
        return Err(PyValueError::new_err(format!(
            "{} characters are too many",
            text.len()
        )));
    }
    let whole = py
        .import("base64")?
        .call_method1("b64decode", (text.trim(), py.None(), true))?;
    let whole = whole.cast::<PyBytes>()?.as_bytes();
    let Some((head, deflated)) = whole.split_at_checked(8) else {
        return Err(PyValueError::new_err("it ends early"));
    };
    if head[..4] != COMPRESSED.to_be_bytes() {
        return Err(PyValueError::new_err("it begins with other bytes"));
    }
    let inflater = py.import("zlib")?.call_method0("decompressobj")?;
    let bytes = inflater.call_method1("decompress", (PyBytes::new(py, deflated), MAX_BYTES))?;
    Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec())
}

fn refusal(py: Python<'_>, error: &PyErr) -> PyErr {
    PyValueError::new_err(format!(
        "not an HDR histogram in V2 compressed base64 form: {}",
        error.value(py)
    ))
}
