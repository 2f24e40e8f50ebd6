use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

fn value_error(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pyclass(module = "tinygram_bench._native", frozen)]
pub struct MessagePool {
    pub inner: tinygram_load::messages::MessagePool,
}

#[pymethods]
impl MessagePool {
    #[new]
    #[pyo3(signature = (seed, min_bytes, max_bytes, producers=1, connections=1))]
    fn new(
        py: Python<'_>,
        seed: u64,
        min_bytes: u64,
        max_bytes: u64,
        producers: u64,
        connections: u64,
    ) -> PyResult<Self> {
        py.detach(|| {
            tinygram_load::messages::MessagePool::generate(seed, min_bytes, max_bytes)?
                .shared_by(producers)
        })
        .map(|pool| pool.spread_over(connections))
        .map(|inner| Self { inner })
        .map_err(value_error)
    }

    fn messages<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        (0..self.inner.message_count())
            .map(|index| PyBytes::new(py, self.inner.message(index)))
            .collect()
    }

    fn stream_bytes(&self, count: u64) -> u64 {
        self.inner.stream_bytes(count)
    }

    #[getter]
    fn producers(&self) -> u64 {
        self.inner.producers()
    }

    #[getter]
    fn message_count(&self) -> u64 {
        self.inner.message_count()
    }
}

#[pyclass(module = "tinygram_bench._native")]
pub struct StreamCheck {
    pub inner: tinygram_load::messages::StreamCheck,
}

#[pymethods]
impl StreamCheck {
    #[new]
    #[pyo3(signature = (pool, messages, may_end_early=false))]
    fn new(pool: &MessagePool, messages: u64, may_end_early: bool) -> Self {
        let whole = tinygram_load::messages::StreamCheck::new(pool.inner.clone(), messages);
        Self {
            inner: if may_end_early {
                whole.ending_early()
            } else {
                whole
            },
        }
    }

    fn push(&mut self, chunk: &[u8]) -> PyResult<()> {
        self.inner.push(chunk).map_err(value_error)
    }

    fn finish(&self) -> PyResult<()> {
        self.inner.finish().map_err(value_error)
    }

    fn turns<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.turns())
    }
}
