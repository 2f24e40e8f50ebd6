//! Messages at a rate, without I/O: which have come due, which of them wait for room, and how long each
//! took from when it was due.

use crate::{
    echo::exchange::{RoundTrips, Turn},
    schedule::{Agenda, Book, Span, StartDelays},
};
use tinygram_core::Histogram;

/// What a run at a rate has found.
#[derive(Debug)]
pub struct Paced {
    /// Its slices, or the whole of it. Round trips are in the turn in which their messages were due, and
    /// count from then.
    pub turns: Vec<Turn>,
    /// From when a message was due until the write of its first byte began; the round trips, too, have how
    /// long those had waited that were not sent before the end.
    pub start_delays: StartDelays,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Due {
    book: Book,
    /// The slices, or the whole of the run.
    spans: Vec<Span>,
    /// The one that has its turn.
    span: Span,
    /// How many messages of each worker have come due, and have not come back.
    outstanding: Vec<u64>,
    /// For each span, those of the messages that were due in it.
    round_trips: Vec<RoundTrips>,
    start_delays: StartDelays,
}

impl Due {
    /// A run in these spans, of which there is one at least.
    pub fn new(agenda: Agenda, spans: Vec<Span>) -> Self {
        let none = |span: &Span| match span.settled_ns {
            Some(_) => RoundTrips::Each(Vec::new()),
            None => RoundTrips::Counted(Histogram::new()),
        };
        Self {
            outstanding: vec![0; agenda.callers()],
            book: Book::new(agenda),
            span: spans[0],
            round_trips: spans.iter().map(none).collect(),
            spans,
            start_delays: StartDelays::default(),
        }
    }

    /// A span begins; nothing is in flight.
    pub fn begin(&mut self, span: Span) {
        self.span = span;
    }

    /// How many messages of a worker have come due, and have not come back.
    pub fn outstanding(&self, worker: usize) -> u64 {
        self.outstanding[worker]
    }

    /// The next worker one of whose messages has come due in this span by `now_ns`.
    pub fn release(&mut self, now_ns: u64) -> Option<usize> {
        let worker = self.book.release(self.span.own_at_ns(now_ns))?;
        self.outstanding[worker] += 1;
        Some(worker)
    }

    /// When the next message comes due, CLOCK_MONOTONIC; `None`: in this span no other does.
    pub fn next_due_at_ns(&self) -> Option<u64> {
        self.span.next_due_at_ns(&self.book)
    }

    /// The worker's next `count` messages have come back at `ended_ns`: they were begun at `begun_ns`, in
    /// this span.
    pub fn on_returned(&mut self, worker: usize, begun_ns: u64, ended_ns: u64, count: u64) {
        for _ in 0..count {
            let due_ns = self.book.take(worker).expect("it was due before it left");
            self.outstanding[worker] -= 1;
            let due_at_ns = self.span.at_ns(due_ns);
            let delay_ns = begun_ns.saturating_sub(due_at_ns);
            if let Some(number) = self.start_delays.record(&self.spans, due_ns, delay_ns) {
                self.round_trips[number].record(ended_ns.saturating_sub(due_at_ns), 1);
            }
        }
    }

    /// The last span is over, and so is the run, which had these turns.
    pub fn ended(mut self, mut turns: Vec<Turn>) -> Paced {
        for due_ns in self.book.not_begun() {
            let (waited_ns, number) = self.start_delays.record_not_begun(&self.spans, due_ns);
            if let Some(number) = number {
                self.round_trips[number].record(waited_ns, 1);
            }
        }
        for (turn, round_trips) in turns.iter_mut().zip(self.round_trips) {
            turn.measured.round_trips = round_trips;
        }
        Paced {
            turns,
            start_delays: self.start_delays,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Slices;

    /// Two slices of 100 ns, the second 500 ns after the first.
    fn spans(start_ns: u64, settling_ns: u64) -> Vec<Span> {
        let slices = Slices::new(vec![0, 500], 100).unwrap();
        slices.spans(start_ns, settling_ns)
    }

    fn released(due: &mut Due, now_ns: u64) -> Vec<usize> {
        std::iter::from_fn(|| due.release(now_ns)).collect()
    }

    /// The round trips of each slice; their messages need not have had turns.
    fn trips(due: &Due) -> Vec<Vec<u64>> {
        due.round_trips
            .iter()
            .map(|trips| match trips {
                RoundTrips::Each(values_ns) => values_ns.clone(),
                RoundTrips::Counted(_) => panic!("of slices they are one by one"),
            })
            .collect()
    }

    #[test]
    fn messages_are_released_in_turn_and_none_of_a_later_slice() {
        let agenda = Agenda::new(vec![10, 20, 90, 150], 2);
        let mut due = Due::new(agenda, spans(1_000, 15));
        assert_eq!(due.next_due_at_ns(), Some(1_010));
        assert_eq!(released(&mut due, 1_025), [0, 1]);
        assert_eq!(due.next_due_at_ns(), Some(1_090));
        // Between the slices, in which own time stands still.
        assert_eq!(released(&mut due, 1_400), [0]);
        assert_eq!(
            (due.next_due_at_ns(), released(&mut due, 1_499)),
            (None, vec![])
        );
        due.begin(due.spans[1]);
        assert_eq!(due.next_due_at_ns(), Some(1_550));
        assert_eq!([due.outstanding(0), due.outstanding(1)], [2, 1]);
    }

    #[test]
    fn a_message_that_was_deferred_counts_in_its_own_slice_from_when_it_was_due() {
        let mut due = Due::new(Agenda::new(vec![10, 60, 90], 1), spans(1_000, 15));
        assert_eq!(released(&mut due, 1_100).len(), 3);
        // The first one was due while the slice settled, and is not measured.
        due.on_returned(0, 1_012, 1_080, 1);
        due.on_returned(0, 1_081, 1_099, 1);
        due.begin(due.spans[1]);
        assert_eq!(due.outstanding(0), 1);
        // Due 10 before the end of its slice, and begun 3 after the begin of the next one.
        due.on_returned(0, 1_503, 1_507, 1);
        assert_eq!(trips(&due), [vec![39, 17], vec![]]);
        let delays = due.ended(Vec::new()).start_delays;
        assert_eq!(delays.times.count(), 2);
        assert_eq!((delays.times.min_ns(), delays.times.max_ns()), (13, 21));
        assert_eq!((delays.not_begun, delays.behind_ns), (0, 0));
    }

    #[test]
    fn what_was_not_sent_counts_with_the_time_that_it_waited() {
        let agenda = Agenda::new(vec![30, 40, 105, 150], 2);
        let mut due = Due::new(agenda, spans(0, 10));
        assert_eq!(released(&mut due, 100), [0, 1]);
        due.on_returned(0, 30, 35, 1);
        due.begin(due.spans[1]);
        assert_eq!(released(&mut due, 600), [0, 1]);
        let delays = due.ended(Vec::new()).start_delays;
        assert_eq!((delays.not_begun, delays.behind_ns), (3, 160));
        // That of 105 was due while its slice settled.
        assert_eq!((delays.times.count(), delays.times.max_ns()), (3, 160));
    }
}
