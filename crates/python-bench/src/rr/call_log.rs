//! What callers that are not native did in slices, or at a rate.

use super::{SpanValues, TallyValues, span_of, tally_values};
use pyo3::prelude::*;
use tinygram_load::{
    rr::{CallLog as Log, Called},
    schedule::Span,
};

#[pyclass(module = "tinygram_bench._native")]
pub struct CallLog {
    inner: Log,
}

#[pymethods]
impl CallLog {
    #[new]
    #[pyo3(signature = (*, is_at_a_rate=false))]
    fn new(is_at_a_rate: bool) -> Self {
        Self {
            inner: Log::new(is_at_a_rate),
        }
    }

    #[pyo3(signature = (span, times, due_ns=None))]
    fn note(&mut self, span: usize, times: (u64, u64, u64), due_ns: Option<u64>) {
        let (called_ns, begun_ns, ended_ns) = times;
        let called = Called {
            called_ns,
            begun_ns,
            ended_ns,
        };
        self.inner.note(span, called, due_ns);
    }

    fn end(&mut self, not_begun_ns: Vec<u64>) {
        self.inner.not_begun_ns = not_begun_ns;
    }

    #[staticmethod]
    fn add_up(logs: Vec<PyRef<'_, Self>>, spans: Vec<SpanValues>) -> TallyValues {
        let spans: Vec<Span> = spans.into_iter().map(span_of).collect();
        tally_values(Log::add_up(logs.iter().map(|log| &log.inner), &spans))
    }
}
