//! When the calls of a process are due, for callers of every runtime.

use super::{SpanValues, span_of, value_error};
use crate::stream::pacer::schedule;
use pyo3::prelude::*;
use tinygram_load::schedule::{Agenda, Book, LATE_NS, Span};
use tinygram_net::clock::monotonic_ns;

#[pyclass(module = "tinygram_bench._native")]
pub struct CallBook {
    agenda: Agenda,
    book: Book,
    span: Span,
}

#[pymethods]
impl CallBook {
    #[classattr]
    const LATE_NS: u64 = LATE_NS;

    #[new]
    fn new(
        rate_per_s: f64,
        arrival: &str,
        duration_ns: u64,
        seed: u64,
        share: (u64, u64),
        callers: usize,
    ) -> PyResult<Self> {
        let (first, step) = share;
        if first >= step || callers == 0 {
            return Err(value_error(
                "a share is of at least one process, and it has a caller",
            ));
        }
        let all = schedule(rate_per_s, arrival, 1, duration_ns, seed)?;
        let own = all.share(first, step).own_due_ns(duration_ns).collect();
        let agenda = Agenda::new(own, callers);
        Ok(Self {
            book: Book::new(agenda.clone()),
            agenda,
            span: Span::always(),
        })
    }

    fn of(&self, caller: usize) -> Vec<u64> {
        self.agenda.of(caller).collect()
    }

    fn begin_span(&mut self, span: SpanValues) {
        self.span = span_of(span);
    }

    fn next_due_at_ns(&self) -> Option<u64> {
        self.span.next_due_at_ns(&self.book)
    }

    fn release(&mut self) -> Option<usize> {
        self.book.release(self.span.own_at_ns(monotonic_ns()))
    }

    fn has_due(&self, caller: usize) -> PyResult<bool> {
        self.check(caller)?;
        Ok(self.book.has_due(caller))
    }

    fn take(&mut self, caller: usize) -> PyResult<Option<u64>> {
        self.check(caller)?;
        if !self.span.is_open_at(monotonic_ns()) {
            return Ok(None);
        }
        Ok(self.book.take(caller))
    }

    fn not_begun(&self, caller: usize) -> PyResult<Vec<u64>> {
        self.check(caller)?;
        Ok(self.book.not_begun_by(caller).collect())
    }
}

impl CallBook {
    /// When all calls are due.
    pub(super) fn agenda(&self) -> Agenda {
        self.agenda.clone()
    }

    fn check(&self, caller: usize) -> PyResult<()> {
        if caller < self.agenda.callers() {
            return Ok(());
        }
        Err(value_error(format!("there is no caller {caller}")))
    }
}
