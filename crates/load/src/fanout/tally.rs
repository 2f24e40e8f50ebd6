//! The receipts of all subscribers: counts and times of the run and of each slice. No I/O.

use crate::schedule::Slices;
use std::collections::VecDeque;
use thiserror::Error;
use tinygram_core::Histogram;

/// How many publications the fastest subscriber may be ahead of the slowest one.
const MOST_IN_FLIGHT: usize = 1 << 20;

/// Why the receipts of subscribers cannot be put together.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TallyError {
    /// The same publication was due at two times.
    #[error("publication {0} was due at another time at another subscriber")]
    Due(u64),
    /// One subscriber has got far more than another.
    #[error("a subscriber is {MOST_IN_FLIGHT} publications behind another one")]
    Behind,
}

/// The turns of the case, and the part of each that counts.
#[derive(Clone, Debug)]
pub struct Turns {
    /// When slices begin, and how long they are.
    pub slices: Slices,
    /// Publications that are due in this first part of each slice are not measured.
    pub settling_ns: u64,
    /// Publications begin in this part of each slice.
    pub open_ns: u64,
    /// When the first cycle begins, by the publisher's CLOCK_MONOTONIC.
    pub start_ns: u64,
}

/// The receipts of one slice.
#[derive(Clone, Debug, Default)]
pub struct OfSlice {
    /// Messages that came to a subscriber in the middle of the slice.
    pub messages: u64,
    /// Messages that were due in the slice, including those that were due while it settled.
    pub all_messages: u64,
    /// When the last of these came, by the publisher's CLOCK_MONOTONIC.
    pub last_ns: u64,
    /// How long after it was due each measured message came; 4.3 s at most.
    pub latencies_ns: Vec<u32>,
    /// The same of the subscriber that got each measured publication last.
    pub lasts_ns: Vec<u32>,
}

/// A publication that has come to some subscribers, and not to all.
#[derive(Debug)]
struct Flight {
    due_ns: Option<u64>,
    missing: u64,
    last_ns: u64,
    /// Its slice, and whether it is measured; `None` before the first slice.
    slice: Option<(usize, bool)>,
}

/// The receipts of all subscribers.
#[derive(Debug)]
pub struct Tally {
    subscribers: u64,
    turns: Option<Turns>,
    /// The number of the first publication in `flights`.
    first: u64,
    flights: VecDeque<Flight>,
    of_slices: Vec<OfSlice>,
    /// The slice of the latest receipt.
    at_slice: usize,
    latencies: Histogram,
    lasts: Histogram,
    early_ns: u64,
}

impl Tally {
    /// Nothing has come.
    pub fn new(subscribers: u64) -> Self {
        Self {
            subscribers,
            turns: None,
            first: 0,
            flights: VecDeque::new(),
            of_slices: Vec::new(),
            at_slice: 0,
            latencies: Histogram::new(),
            lasts: Histogram::new(),
            early_ns: 0,
        }
    }

    /// Count from now on.
    pub fn begin(&mut self, turns: Turns) {
        self.of_slices = vec![OfSlice::default(); turns.slices.count()];
        self.turns = Some(turns);
    }

    /// Publication `number` has come to one more subscriber.
    ///
    /// # Errors
    /// [`TallyError`].
    pub fn on_receipt(&mut self, number: u64, due_ns: u64, at_ns: u64) -> Result<(), TallyError> {
        let index = (number - self.first) as usize;
        while index >= self.flights.len() {
            if self.flights.len() == MOST_IN_FLIGHT {
                return Err(TallyError::Behind);
            }
            self.flights.push_back(Flight {
                due_ns: None,
                missing: self.subscribers,
                last_ns: 0,
                slice: None,
            });
        }
        let flight = &mut self.flights[index];
        match flight.due_ns {
            None => {
                flight.due_ns = Some(due_ns);
                flight.slice = self.turns.as_ref().and_then(|turns| turns.slice(due_ns));
            }
            Some(known_ns) if known_ns != due_ns => return Err(TallyError::Due(number)),
            Some(_) => {}
        }
        flight.missing -= 1;
        flight.last_ns = at_ns;
        if let (Some((slice, is_measured)), Some(turns)) = (flight.slice, &self.turns) {
            let latency_ns = at_ns.saturating_sub(due_ns);
            self.early_ns = self.early_ns.max(due_ns.saturating_sub(at_ns));
            let of_slice = &mut self.of_slices[slice];
            of_slice.all_messages += 1;
            of_slice.last_ns = at_ns;
            if is_measured {
                self.latencies.record(latency_ns);
                of_slice.latencies_ns.push(saturated(latency_ns));
                if flight.missing == 0 {
                    self.lasts.record(latency_ns);
                    of_slice.lasts_ns.push(saturated(latency_ns));
                }
            }
            if let Some(middle) = turns.middle(at_ns, &mut self.at_slice) {
                self.of_slices[middle].messages += 1;
            }
        }
        while self
            .flights
            .front()
            .is_some_and(|flight| flight.missing == 0)
        {
            self.flights.pop_front();
            self.first += 1;
        }
        Ok(())
    }

    /// The receipts of each slice.
    pub fn of_slices(&self) -> &[OfSlice] {
        &self.of_slices
    }

    /// By how much a message came before it was due, at most: so much the clocks of two hosts differ
    /// otherwise than is known. Its latency counts as 0.
    pub fn early_ns(&self) -> u64 {
        self.early_ns
    }

    /// How long after it was due every measured message came.
    pub fn latencies(&self) -> &Histogram {
        &self.latencies
    }

    /// The same of the subscriber that got every measured publication last.
    pub fn lasts(&self) -> &Histogram {
        &self.lasts
    }
}

impl Turns {
    /// The slice in which a publication is due, and whether it is measured.
    fn slice(&self, due_ns: u64) -> Option<(usize, bool)> {
        let after_ns = due_ns.checked_sub(self.start_ns)?;
        let slice = self.slices.measuring(after_ns, 0)?;
        Some((
            slice,
            after_ns - self.slices.begin_ns(slice) > self.settling_ns,
        ))
    }

    /// The slice in whose middle a moment lies. `at_slice`: that of an earlier moment.
    fn middle(&self, at_ns: u64, at_slice: &mut usize) -> Option<usize> {
        let after_ns = at_ns.checked_sub(self.start_ns)?;
        while *at_slice + 1 < self.slices.count() && self.slices.begin_ns(*at_slice + 1) <= after_ns
        {
            *at_slice += 1;
        }
        let into_ns = after_ns.checked_sub(self.slices.begin_ns(*at_slice))?;
        (self.settling_ns < into_ns && into_ns <= self.open_ns).then_some(*at_slice)
    }
}

fn saturated(ns: u64) -> u32 {
    u32::try_from(ns).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns() -> Turns {
        Turns {
            slices: Slices::new(vec![100, 500], 100).unwrap(),
            settling_ns: 10,
            open_ns: 80,
            start_ns: 1_000,
        }
    }

    #[test]
    fn the_last_subscriber_ends_a_publication() {
        let mut tally = Tally::new(2);
        tally.on_receipt(0, 5, 6).unwrap(); // Warms up.
        tally.on_receipt(0, 5, 7).unwrap();
        tally.begin(turns());
        tally.on_receipt(1, 1_120, 1_130).unwrap();
        tally.on_receipt(2, 1_150, 1_160).unwrap(); // The first subscriber is one ahead.
        tally.on_receipt(1, 1_120, 1_190).unwrap();
        tally.on_receipt(2, 1_150, 1_195).unwrap();
        tally.on_receipt(3, 1_505, 1_530).unwrap(); // Due while the slice settles.
        tally.on_receipt(3, 1_505, 1_531).unwrap();
        let [first, second] = tally.of_slices() else {
            panic!("two slices")
        };
        assert_eq!(first.latencies_ns, [10, 10, 70, 45]);
        assert_eq!(first.lasts_ns, [70, 45]);
        assert_eq!((first.messages, first.all_messages), (2, 4)); // Two came after the middle.
        assert_eq!(first.last_ns, 1_195);
        assert!(second.latencies_ns.is_empty());
        assert_eq!((second.messages, second.all_messages), (2, 2));
        assert_eq!((tally.latencies().count(), tally.lasts().count()), (4, 2));
        assert_eq!(tally.lasts().max_ns(), 70);
        assert!(tally.flights.is_empty());
    }

    #[test]
    fn a_due_time_that_differs_is_a_damaged_message() {
        let mut tally = Tally::new(2);
        tally.on_receipt(0, 5, 6).unwrap();
        assert_eq!(tally.on_receipt(0, 4, 6), Err(TallyError::Due(0)));
    }

    #[test]
    fn what_comes_before_it_is_due_has_no_latency_and_is_told() {
        let mut tally = Tally::new(1);
        tally.begin(turns());
        tally.on_receipt(0, 1_120, 1_113).unwrap();
        tally.on_receipt(1, 1_120, 1_117).unwrap();
        assert_eq!(tally.early_ns(), 7);
        assert_eq!(tally.of_slices()[0].latencies_ns, [0, 0]);
    }

    #[test]
    fn what_is_kept_of_subscribers_that_are_behind_is_bounded() {
        let mut tally = Tally::new(2);
        for number in 0..MOST_IN_FLIGHT as u64 {
            tally.on_receipt(number, 1, 2).unwrap();
        }
        let more = tally.on_receipt(MOST_IN_FLIGHT as u64, 1, 2);
        assert_eq!(more, Err(TallyError::Behind));
    }
}
