//! The tally of callers: how long calls and connecting took.

use crate::schedule::{Span, StartDelays};
use tinygram_core::Histogram;

/// The tally of a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceTally {
    /// How long each call took that began after the slice had settled, in nanoseconds.
    pub calls_ns: Vec<u64>,
    /// The sum of each caller's time from its first such call to the end of its last.
    pub callers_time_ns: u64,
    /// When the last call of the slice ended, whenever it began.
    pub last_ns: u64,
    /// All calls of the slice, whenever they began.
    pub calls: u64,
}

/// The tally of one caller, or of several together.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Calls that were measured.
    pub calls: u64,
    /// From the first write of a request to the last byte of its reply; at a rate, from when the call was
    /// due.
    pub call: Histogram,
    /// At a rate, from when a call was due until its caller began to connect for it, or to send; `call` has
    /// how long those had waited that nobody began.
    pub start_delays: StartDelays,
    /// From connect(2) to its end, also of connections that were made before the start.
    pub connect: Histogram,
    /// The sum of the measured calls' times, each from its first write.
    pub call_time_ns: u64,
    /// The sum of the times that callers spent connecting since the start.
    pub connect_time_ns: u64,
    /// The sum of each caller's time from the start to the end of its last call.
    pub callers_time_ns: u64,
    /// When the last call of all ended.
    pub last_ns: u64,
    /// The tallies of each slice, if cases took turns; `call` then has only the calls of these.
    pub slices: Vec<SliceTally>,
}

impl Tally {
    /// Record a call of the span; if that is a slice, in the last of the slices.
    pub fn record_call(&mut self, span: &Span, called: &Called) {
        let Called {
            begun_ns, ended_ns, ..
        } = *called;
        let took_ns = ended_ns - begun_ns;
        self.calls += 1;
        self.call_time_ns += took_ns;
        self.last_ns = self.last_ns.max(ended_ns);
        let is_measured = span.is_measured(begun_ns);
        if is_measured {
            self.call.record(took_ns);
        }
        if let Some(slice) = self.slices.last_mut() {
            slice.last_ns = slice.last_ns.max(ended_ns);
            slice.calls += 1;
            if is_measured {
                slice.calls_ns.push(took_ns);
            }
        }
    }

    /// Record a call that was due at `due_ns` of the case's own time, and was made in the span `current`: its
    /// time counts from when it was due, in the slice in which it was due.
    pub fn record_due_call(
        &mut self,
        spans: &[Span],
        current: &Span,
        due_ns: u64,
        called: &Called,
    ) {
        let due_at_ns = current.at_ns(due_ns);
        self.calls += 1;
        self.call_time_ns += called.ended_ns - called.begun_ns;
        self.last_ns = self.last_ns.max(called.ended_ns);
        if let Some(slice) = self.slices.last_mut() {
            slice.last_ns = slice.last_ns.max(called.ended_ns);
            slice.calls += 1;
        }
        let delay_ns = called.called_ns.saturating_sub(due_at_ns);
        let slice = self.start_delays.record(spans, due_ns, delay_ns);
        self.record_due(slice, called.ended_ns.saturating_sub(due_at_ns));
    }

    /// Record a call that was due at `due_ns` of the case's own time, and that nobody had begun when the
    /// last span was over: it would have taken longer than it had waited by then.
    pub fn record_not_begun(&mut self, spans: &[Span], due_ns: u64) {
        let (waited_ns, slice) = self.start_delays.record_not_begun(spans, due_ns);
        self.record_due(slice, waited_ns);
    }

    /// Record the time of a call that is measured in this span; `None`: in none.
    fn record_due(&mut self, span: Option<usize>, took_ns: u64) {
        let Some(number) = span else {
            return;
        };
        self.call.record(took_ns);
        if let Some(slice) = self.slices.get_mut(number) {
            slice.calls_ns.push(took_ns);
        }
    }

    /// The calls of a span begin; if that is a slice, begin a tally of it.
    pub fn begin(&mut self, span: &Span) {
        if span.settled_ns.is_some() {
            self.slices.push(SliceTally::default());
        }
    }

    /// A caller has called from `begun_ns` until `ended_ns` in the slice, after it had settled.
    pub fn record_caller(&mut self, begun_ns: u64, ended_ns: u64) {
        if let Some(slice) = self.slices.last_mut() {
            slice.callers_time_ns += ended_ns - begun_ns;
        }
    }

    /// Add the tally of another caller.
    pub fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.call.merge(&other.call);
        self.start_delays.merge(&other.start_delays);
        self.connect.merge(&other.connect);
        self.call_time_ns += other.call_time_ns;
        self.connect_time_ns += other.connect_time_ns;
        self.callers_time_ns += other.callers_time_ns;
        self.last_ns = self.last_ns.max(other.last_ns);
        let slices = self.slices.len().max(other.slices.len());
        self.slices.resize_with(slices, SliceTally::default);
        for (slice, more) in self.slices.iter_mut().zip(&other.slices) {
            slice.calls_ns.extend(&more.calls_ns);
            slice.callers_time_ns += more.callers_time_ns;
            slice.last_ns = slice.last_ns.max(more.last_ns);
            slice.calls += more.calls;
        }
    }
}

/// The times of a call, CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub struct Called {
    /// When it began to connect, where each request has a connection of its own, or to send.
    pub called_ns: u64,
    /// When it began to send.
    pub begun_ns: u64,
    /// When its reply was whole.
    pub ended_ns: u64,
}

/// A caller's time in a span, in which its calls follow each other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stay {
    arrived_ns: u64,
    /// When its first call that is measured began.
    first_ns: Option<u64>,
    now_ns: u64,
}

impl Stay {
    /// A caller comes at the span's start, or later, if a call of the span before lasted until `last_ns`.
    pub fn begin(span: &Span, last_ns: u64) -> Self {
        let arrived_ns = span.start_ns.max(last_ns);
        Self {
            arrived_ns,
            first_ns: None,
            now_ns: arrived_ns,
        }
    }

    /// When the caller's last call ended, or, without one, when the caller came.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    pub fn on_call(&mut self, span: &Span, called: &Called) {
        self.now_ns = called.ended_ns;
        if self.first_ns.is_none() && span.is_measured(called.begun_ns) {
            self.first_ns = Some(called.called_ns);
        }
    }

    /// A caller at a rate makes no more calls in the span: it was there all the time.
    pub fn end_at_a_rate(&self, span: &Span, tally: &mut Tally) {
        tally.callers_time_ns += self.now_ns.max(span.end_ns).saturating_sub(self.arrived_ns);
    }

    /// The caller makes no more calls in the span: record its time.
    pub fn end(&self, span: &Span, tally: &mut Tally) {
        let Self {
            arrived_ns,
            first_ns,
            now_ns,
        } = *self;
        tally.callers_time_ns += now_ns - arrived_ns;
        if let Some(from_ns) = span.counts_from_ns(arrived_ns, first_ns) {
            let ended_ns = (now_ns > arrived_ns).then_some(now_ns);
            tally.record_caller(from_ns, span.counts_until_ns(ended_ns).max(from_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(settled_ns: Option<u64>) -> Span {
        Span {
            start_ns: 0,
            end_ns: u64::MAX,
            calls: None,
            settled_ns,
            own_ns: 0,
        }
    }

    /// Two slices of 100 ns that have settled after 20, and the end of all.
    fn two_slices() -> [Span; 3] {
        [(1_000, 1_100), (5_000, 5_100), (9_000, 9_000)].map(|(start_ns, end_ns)| Span {
            start_ns,
            end_ns,
            calls: None,
            settled_ns: (end_ns > start_ns).then_some(start_ns + 20),
            own_ns: start_ns / 4_000 * 100,
        })
    }

    fn called(called_ns: u64, ended_ns: u64) -> Called {
        Called {
            called_ns,
            begun_ns: called_ns,
            ended_ns,
        }
    }

    #[test]
    fn a_call_at_a_rate_counts_from_when_it_was_due_in_the_slice_in_which_it_was_due() {
        let spans = two_slices();
        let mut tally = Tally::default();
        tally.begin(&spans[0]);
        // Due as the slice settles: not measured.
        tally.record_due_call(&spans, &spans[0], 20, &called(1_020, 1_025));
        tally.record_due_call(&spans, &spans[0], 30, &called(1_031, 1_040));
        tally.begin(&spans[1]);
        // Due 10 ns before the end of the first slice, and begun 1 ns into the second one: between them the
        // case's time stood still.
        tally.record_due_call(&spans, &spans[1], 90, &called(5_001, 5_006));
        tally.record_due_call(&spans, &spans[1], 150, &called(5_050, 5_057));
        assert_eq!(tally.slices[0].calls_ns, [10, 16]);
        assert_eq!(tally.slices[1].calls_ns, [7]);
        // They used the CPU in the slices in which they were made.
        assert_eq!([tally.slices[0].calls, tally.slices[1].calls], [2, 2]);
        assert_eq!((tally.calls, tally.call_time_ns), (4, 5 + 9 + 5 + 7));
        let delays = &tally.start_delays.times;
        assert_eq!((delays.count(), delays.max_ns()), (3, 11));
    }

    #[test]
    fn a_call_that_nobody_began_counts_with_the_time_that_it_waited() {
        let spans = two_slices();
        let mut tally = Tally::default();
        tally.begin(&spans[0]);
        tally.begin(&spans[1]);
        for due_ns in [60, 110, 180] {
            tally.record_not_begun(&spans, due_ns);
        }
        // The second of them was due as its slice settled.
        assert_eq!(tally.slices[0].calls_ns, [140]);
        assert_eq!(tally.slices[1].calls_ns, [20]);
        let delays = &tally.start_delays;
        assert_eq!((tally.calls, delays.not_begun), (0, 3));
        assert_eq!(delays.behind_ns, 140);
    }

    #[test]
    fn a_slice_has_the_calls_that_began_after_it_had_settled() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        for settled_ns in [100, 1_100] {
            one.begin(&span(Some(settled_ns)));
            one.record_call(
                &span(Some(settled_ns)),
                &called(settled_ns - 10, settled_ns + 10),
            );
            one.record_call(&span(Some(settled_ns)), &called(settled_ns, settled_ns + 7));
            one.record_caller(settled_ns, settled_ns + 7);
        }
        other.begin(&span(Some(100)));
        other.record_call(&span(Some(100)), &called(100, 105));
        other.record_caller(100, 105);
        one.merge(&other);
        let slice = |calls_ns: &[u64], callers_time_ns, last_ns, calls| SliceTally {
            calls_ns: calls_ns.to_vec(),
            callers_time_ns,
            last_ns,
            calls,
        };
        assert_eq!(
            one.slices,
            [slice(&[7, 5], 12, 110, 3), slice(&[7], 7, 1_110, 2)]
        );
        assert_eq!((one.calls, one.call.count()), (5, 3));
        assert_eq!(one.call_time_ns, 2 * 27 + 5);
    }

    #[test]
    fn merging_adds_up_and_keeps_the_last_end() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        let alone = span(None);
        one.record_call(&alone, &called(1_000, 3_000));
        other.record_call(&alone, &called(2_000, 2_500));
        other.connect.record(7);
        one.merge(&other);
        assert_eq!(
            (one.calls, one.call_time_ns, one.last_ns),
            (2, 2_500, 3_000)
        );
        assert_eq!((one.call.count(), one.connect.count()), (2, 1));
    }
}
