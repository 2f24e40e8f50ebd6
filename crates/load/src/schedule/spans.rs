//! Spans: when what is due may be begun, and what that is in the case's own time, which stands still between
//! them. A run that is alone is one span, and otherwise each slice is one.

use super::{Book, LATE_NS, Slices};
use tinygram_core::Histogram;

/// When calls, or messages, are begun. What has begun is finished, whatever the time.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Not before.
    pub start_ns: u64,
    /// None begins after it.
    pub end_ns: u64,
    /// Calls of each caller at most; of callers that share a connection, so many times their number.
    pub calls: Option<u64>,
    /// If it is a slice: what begins from this time on is measured.
    pub settled_ns: Option<u64>,
    /// How much of the case's own time is over at its start: that time stands still between slices.
    pub own_ns: u64,
}

impl Span {
    /// When a moment of the case's own time comes, CLOCK_MONOTONIC. For a moment of an earlier slice it is
    /// before the start, by as much as the case has had of its own time since.
    pub fn at_ns(&self, own_ns: u64) -> u64 {
        (self.start_ns + own_ns).saturating_sub(self.own_ns)
    }

    /// The case's own time at `at_ns`, or at the end if that comes before.
    pub fn own_at_ns(&self, at_ns: u64) -> u64 {
        self.own_ns + at_ns.min(self.end_ns).saturating_sub(self.start_ns)
    }

    /// The case's own time at the end.
    pub fn own_end_ns(&self) -> u64 {
        self.own_at_ns(self.end_ns)
    }

    /// Whether what has come due may still be begun at `at_ns`; in an empty span nothing may.
    pub fn is_open_at(&self, at_ns: u64) -> bool {
        self.start_ns < self.end_ns && at_ns < self.end_ns.saturating_add(LATE_NS)
    }

    /// Whether what began then is measured.
    pub fn is_measured(&self, begun_ns: u64) -> bool {
        self.settled_ns
            .is_none_or(|settled_ns| begun_ns >= settled_ns)
    }

    /// When the next call of a book comes due; `None`: in this span no other does.
    pub fn next_due_at_ns(&self, book: &Book) -> Option<u64> {
        let due_at_ns = self.at_ns(book.next_due_ns()?);
        (due_at_ns <= self.end_ns).then_some(due_at_ns)
    }
}

impl Slices {
    /// A span for each slice, which has settled `settling_ns` after its begin; the first cycle begins at
    /// `start_ns`, CLOCK_MONOTONIC.
    pub fn spans(&self, start_ns: u64, settling_ns: u64) -> Vec<Span> {
        (0..self.count())
            .map(|slice| {
                let begin_ns = start_ns.saturating_add(self.begin_ns(slice));
                Span {
                    start_ns: begin_ns,
                    end_ns: start_ns.saturating_add(self.end_ns(slice)),
                    calls: None,
                    settled_ns: Some(begin_ns.saturating_add(settling_ns)),
                    own_ns: slice as u64 * (self.end_ns(slice) - self.begin_ns(slice)),
                }
            })
            .collect()
    }
}

/// How late calls, or messages, were begun that were due at a time; only those that are measured are timed.
#[derive(Clone, Debug, Default)]
pub struct StartDelays {
    /// From when each was due until it was begun.
    pub times: Histogram,
    /// Those that were due, and that nobody could begin in time: `times` has how long each of them had
    /// waited at the end.
    pub not_begun: u64,
    /// How long the first of these had been due at the end, in the case's own time.
    pub behind_ns: u64,
}

impl StartDelays {
    /// Record what was due at `due_ns` of the case's own time, and was begun `delay_ns` after that. Returns
    /// the number of the span in which it was due and is measured; `None`: it is not, for the span had not
    /// settled.
    pub fn record(&mut self, spans: &[Span], due_ns: u64, delay_ns: u64) -> Option<usize> {
        // A moment at the edge of two slices belongs to the first.
        let number = spans
            .partition_point(|span| span.own_ns < due_ns)
            .saturating_sub(1);
        let span = spans.get(number)?;
        let has_settled = |settled_ns| span.at_ns(due_ns) > settled_ns;
        if !span.settled_ns.is_none_or(has_settled) {
            return None;
        }
        self.times.record(delay_ns);
        Some(number)
    }

    /// Record what nobody had begun when the last span was over. Returns how long it had waited by then, and
    /// what `record` returns.
    pub fn record_not_begun(&mut self, spans: &[Span], due_ns: u64) -> (u64, Option<usize>) {
        let over_ns = spans.last().map_or(0, Span::own_end_ns);
        let waited_ns = over_ns.saturating_sub(due_ns);
        self.not_begun += 1;
        self.behind_ns = self.behind_ns.max(waited_ns);
        (waited_ns, self.record(spans, due_ns, waited_ns))
    }

    /// Add those of other callers.
    pub fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.not_begun += other.not_begun;
        self.behind_ns = self.behind_ns.max(other.behind_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_sees_own_time_without_the_time_between() {
        let spans = Slices::new(vec![100, 500, 1_000], 50).unwrap().spans(0, 10);
        let own = [0, 500, 520, 550, 9_999].map(|at_ns| spans[1].own_at_ns(at_ns));
        assert_eq!(own, [50, 50, 70, 100, 100]);
        // Due 10 before the end of the first slice, and 30 into the third one.
        let at = [40, 70, 130].map(|own_ns| spans[1].at_ns(own_ns));
        assert_eq!(at, [490, 520, 580]);
        assert_eq!((spans[2].at_ns(0), spans[2].own_end_ns()), (900, 150));
    }

    #[test]
    fn what_was_due_counts_in_its_own_slice_unless_that_had_not_settled() {
        let spans = Slices::new(vec![100, 500], 50).unwrap().spans(1_000, 10);
        let mut delays = StartDelays::default();
        let counted = [0, 10, 11, 50, 60, 61, 100].map(|due_ns| delays.record(&spans, due_ns, 7));
        assert_eq!(
            counted,
            [None, None, Some(0), Some(0), None, Some(1), Some(1)]
        );
        assert_eq!(delays.times.count(), 4);
        assert_eq!(delays.record_not_begun(&spans, 30), (70, Some(0)));
        assert_eq!(delays.record_not_begun(&spans, 55), (45, None));
        assert_eq!((delays.not_begun, delays.behind_ns), (2, 70));
        assert_eq!((delays.times.count(), delays.times.max_ns()), (5, 70));
    }

    #[test]
    fn alone_all_that_is_due_is_measured() {
        let whole = Span {
            start_ns: 1_000,
            end_ns: 2_000,
            calls: None,
            settled_ns: None,
            own_ns: 0,
        };
        let mut delays = StartDelays::default();
        assert_eq!(delays.record(&[whole], 0, 5), Some(0));
        assert_eq!(delays.record_not_begun(&[whole], 900), (100, Some(0)));
        assert_eq!((delays.times.count(), delays.times.max_ns()), (2, 100));
    }
}
