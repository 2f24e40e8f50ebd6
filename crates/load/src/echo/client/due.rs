//! Messages at a rate, without I/O: which have come due, which of them wait for room, and how long each
//! took from when it was due.

use crate::{
    echo::exchange::{RoundTrips, Turn},
    schedule::{Agenda, Book, Slices},
};
use tinygram_core::Histogram;

/// What a run at a rate has found.
#[derive(Debug)]
pub struct Paced {
    /// Its slices, or the whole of it. Round trips are in the turn in which their messages were due, and
    /// count from then.
    pub turns: Vec<Turn>,
    /// From when a message was due until the write of its first byte began.
    pub start_delay: Histogram,
    /// Messages that were due, and that were not sent before the end: the round trips and `start_delay`
    /// have how long each of them had waited by then.
    pub messages_not_begun: u64,
    /// How long the first of these had been due at the end, in the case's own time.
    pub behind_ns: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Due<'a> {
    book: Book,
    slices: &'a Slices,
    /// The messages that are due in this first part of a slice are not measured; `None`: all are.
    settling_ns: Option<u64>,
    /// When the first cycle begins, CLOCK_MONOTONIC.
    start_ns: u64,
    /// The slice that has its turn.
    slice: usize,
    /// How many messages of each worker have come due, and have not come back.
    outstanding: Vec<u64>,
    /// For each slice, those of the messages that were due in it.
    round_trips: Vec<RoundTrips>,
    start_delay: Histogram,
}

impl<'a> Due<'a> {
    /// A run that begins with the first slice, at `start_ns`; with `settling_ns` it takes turns.
    pub fn new(
        agenda: Agenda,
        slices: &'a Slices,
        settling_ns: Option<u64>,
        start_ns: u64,
    ) -> Self {
        let none = || match settling_ns {
            Some(_) => RoundTrips::Each(Vec::new()),
            None => RoundTrips::Counted(Histogram::new()),
        };
        Self {
            outstanding: vec![0; agenda.callers()],
            book: Book::new(agenda),
            slices,
            settling_ns,
            start_ns,
            slice: 0,
            round_trips: (0..slices.count()).map(|_| none()).collect(),
            start_delay: Histogram::new(),
        }
    }

    /// A slice begins; nothing is in flight.
    pub fn begin(&mut self, slice: usize) {
        self.slice = slice;
    }

    /// How many messages of a worker have come due, and have not come back.
    pub fn outstanding(&self, worker: usize) -> u64 {
        self.outstanding[worker]
    }

    /// The next worker one of whose messages has come due in this slice by `now_ns`.
    pub fn release(&mut self, now_ns: u64) -> Option<usize> {
        let at_ns = now_ns.saturating_sub(self.start_ns);
        let worker = self
            .book
            .release(self.slices.own_ns_in(self.slice, at_ns))?;
        self.outstanding[worker] += 1;
        Some(worker)
    }

    /// When the next message comes due, CLOCK_MONOTONIC; `None`: in this slice no other does.
    pub fn next_due_at_ns(&self) -> Option<u64> {
        let due_ns = self.book.next_due_ns()?;
        let end_ns = self.slices.own_ns_in(self.slice, u64::MAX);
        (due_ns <= end_ns).then(|| self.at_ns(due_ns))
    }

    fn at_ns(&self, due_ns: u64) -> u64 {
        self.start_ns + self.slices.at_ns_in(self.slice, due_ns)
    }

    /// The worker's next `count` messages have come back at `ended_ns`: they were begun at `begun_ns`, in
    /// this slice.
    pub fn on_returned(&mut self, worker: usize, begun_ns: u64, ended_ns: u64, count: u64) {
        for _ in 0..count {
            let due_ns = self.book.take(worker).expect("it was due before it left");
            self.outstanding[worker] -= 1;
            let due_at_ns = self.at_ns(due_ns);
            let waited_ns = begun_ns.saturating_sub(due_at_ns);
            self.record(due_ns, waited_ns, ended_ns.saturating_sub(due_at_ns));
        }
    }

    fn record(&mut self, due_ns: u64, waited_ns: u64, round_trip_ns: u64) {
        let is_settling = |settling_ns| self.slices.into_slice_ns(due_ns) <= settling_ns;
        if !self.settling_ns.is_some_and(is_settling) {
            let slice = self.slices.slice_of(due_ns);
            self.round_trips[slice].record(round_trip_ns, 1);
            self.start_delay.record(waited_ns);
        }
    }

    /// The last slice is over, and so is the run, which had these turns.
    pub fn ended(mut self, mut turns: Vec<Turn>) -> Paced {
        let over_ns = self.slices.own_end_ns();
        let not_begun: Vec<u64> = self.book.not_begun().collect();
        for &due_ns in &not_begun {
            self.record(due_ns, over_ns - due_ns, over_ns - due_ns);
        }
        for (turn, round_trips) in turns.iter_mut().zip(self.round_trips) {
            turn.measured.round_trips = round_trips;
        }
        Paced {
            turns,
            start_delay: self.start_delay,
            messages_not_begun: not_begun.len() as u64,
            behind_ns: not_begun.iter().min().map_or(0, |first| over_ns - first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices() -> Slices {
        Slices::new(vec![0, 500], 100).unwrap()
    }

    fn released(due: &mut Due<'_>, now_ns: u64) -> Vec<usize> {
        std::iter::from_fn(|| due.release(now_ns)).collect()
    }

    /// The round trips of each slice; their messages need not have had turns.
    fn trips(due: &Due<'_>) -> Vec<Vec<u64>> {
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
        let slices = slices();
        let agenda = Agenda::new(vec![10, 20, 90, 150], 2);
        let mut due = Due::new(agenda, &slices, Some(15), 1_000);
        assert_eq!(due.next_due_at_ns(), Some(1_010));
        assert_eq!(released(&mut due, 1_025), [0, 1]);
        assert_eq!(due.next_due_at_ns(), Some(1_090));
        // Between the slices, in which own time stands still.
        assert_eq!(released(&mut due, 1_400), [0]);
        assert_eq!(
            (due.next_due_at_ns(), released(&mut due, 1_499)),
            (None, vec![])
        );
        due.begin(1);
        assert_eq!(due.next_due_at_ns(), Some(1_550));
        assert_eq!([due.outstanding(0), due.outstanding(1)], [2, 1]);
    }

    #[test]
    fn a_message_that_was_deferred_counts_in_its_own_slice_from_when_it_was_due() {
        let slices = slices();
        let mut due = Due::new(Agenda::new(vec![10, 60, 90], 1), &slices, Some(15), 1_000);
        assert_eq!(released(&mut due, 1_100).len(), 3);
        // The first one was due while the slice settled, and is not measured.
        due.on_returned(0, 1_012, 1_080, 1);
        due.on_returned(0, 1_081, 1_099, 1);
        due.begin(1);
        assert_eq!(due.outstanding(0), 1);
        // Due 10 before the end of its slice, and begun 3 after the begin of the next one.
        due.on_returned(0, 1_503, 1_507, 1);
        assert_eq!(trips(&due), [vec![39, 17], vec![]]);
        assert_eq!(due.start_delay.count(), 2);
        assert_eq!(
            (due.start_delay.min_ns(), due.start_delay.max_ns()),
            (13, 21)
        );
        let found = due.ended(Vec::new());
        assert_eq!((found.messages_not_begun, found.behind_ns), (0, 0));
    }

    #[test]
    fn what_was_not_sent_counts_with_the_time_that_it_waited() {
        let slices = slices();
        let agenda = Agenda::new(vec![30, 40, 105, 150], 2);
        let mut due = Due::new(agenda, &slices, Some(10), 0);
        assert_eq!(released(&mut due, 100), [0, 1]);
        due.on_returned(0, 30, 35, 1);
        due.begin(1);
        assert_eq!(released(&mut due, 600), [0, 1]);
        let found = due.ended(Vec::new());
        assert_eq!((found.messages_not_begun, found.behind_ns), (3, 160));
        // That of 105 was due while its slice settled.
        assert_eq!(found.start_delay.count(), 3);
        assert_eq!(found.start_delay.max_ns(), 160);
    }
}
