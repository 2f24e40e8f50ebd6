//! When messages are due, without I/O: `agenda` has the calls of several callers, `onoff` loads that come
//! and go, `slices` the turns of cases, `spans` when what is due may be begun and how late it was, and `optimum`
//! the cost of the best batching of a known schedule.

mod agenda;
mod onoff;
mod optimum;
mod slices;
mod spans;

pub use agenda::{Agenda, Book, LATE_NS};
pub use optimum::{Optimum, offline_optimum};
pub use slices::{Slices, SlicesError};
pub use spans::{Span, StartDelays};

use crate::generator::Generator;
use thiserror::Error;

/// The most messages that one schedule may hold.
pub const MAX_MESSAGES: u64 = 100_000_000;

/// How the bursts of a paced stream are spread in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Equal gaps.
    Constant,
    /// Exponential gaps: a Poisson process.
    Poisson,
    /// On and off in turn, some milliseconds each, at rates that differ by four and sixteen times.
    OnOff,
}

/// Why a schedule cannot be made.
#[derive(Debug, Error, PartialEq)]
pub enum ScheduleError {
    /// The rate is no positive number.
    #[error("rate {0} is not a positive number of messages per second")]
    Rate(f64),
    /// A burst of no message.
    #[error("a burst needs at least one message")]
    Burst,
    /// The duration is too short for one burst at this rate.
    #[error(
        "a burst of {burst} messages at {rate_per_s} per second takes longer than the duration"
    )]
    Duration {
        /// Messages per burst.
        burst: u64,
        /// Messages per second.
        rate_per_s: f64,
    },
    /// Rate × duration is too many messages.
    #[error("{0} messages per run are more than {MAX_MESSAGES}")]
    Messages(f64),
}

/// The intended send times of a paced stream: absolute within the stream and computed
/// beforehand, so that a slow sender cannot move them (no coordinated omission).
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    burst: u64,
    messages: u64,
    /// Offsets of the bursts from the start, in nanoseconds; never decreasing.
    due_ns: Vec<u64>,
    /// How much sooner bursts at equal gaps are due in slices.
    phase_ns: u64,
}

/// If equal gaps are cut into slices, the first gap is shorter by this share of a gap: no simple
/// fraction, or bursts as far apart as slices are long would all be due at the end of one.
const PHASE: f64 = 0.381_966;

impl Schedule {
    /// Bursts of `burst` messages at `rate_per_s` messages per second for `duration_ns`.
    /// The first burst is due one gap after the start; on/off, as soon as the first phase has one.
    ///
    /// # Errors
    /// [`ScheduleError`], when there is nothing or too much to send.
    pub fn new(
        rate_per_s: f64,
        arrival: Arrival,
        burst: u64,
        duration_ns: u64,
        seed: u64,
    ) -> Result<Self, ScheduleError> {
        if !(rate_per_s.is_finite() && rate_per_s > 0.0) {
            return Err(ScheduleError::Rate(rate_per_s));
        }
        if burst == 0 {
            return Err(ScheduleError::Burst);
        }
        let wanted = (rate_per_s * duration_ns as f64 / 1e9).round();
        if wanted > MAX_MESSAGES as f64 {
            return Err(ScheduleError::Messages(wanted));
        }
        let bursts = wanted as u64 / burst;
        if bursts == 0 {
            return Err(ScheduleError::Duration { burst, rate_per_s });
        }
        let mean_gap_ns = burst as f64 * 1e9 / rate_per_s;
        let mut generator = Generator::new(seed);
        let due_ns = match arrival {
            // From the count, not by adding: rounding errors do not add up.
            Arrival::Constant => (1..=bursts)
                .map(|count| (count as f64 * mean_gap_ns) as u64)
                .collect(),
            Arrival::Poisson => poisson_due_ns(bursts, duration_ns, &mut generator),
            Arrival::OnOff => onoff::due_ns(bursts, duration_ns, &mut generator),
        };
        let is_even = arrival == Arrival::Constant;
        Ok(Self {
            burst,
            messages: bursts * burst,
            due_ns,
            phase_ns: if is_even {
                (PHASE * mean_gap_ns) as u64
            } else {
                0
            },
        })
    }

    /// One producer's part of the schedule: messages `first`, `first + step`, … as one of its own.
    ///
    /// # Panics
    /// When `step` is 0.
    #[must_use]
    pub fn share(&self, first: u64, step: u64) -> Self {
        let due_ns: Vec<u64> = (first..self.messages)
            .step_by(step as usize)
            .map(|index| self.due_ns(index))
            .collect();
        Self {
            burst: 1,
            messages: due_ns.len() as u64,
            due_ns,
            phase_ns: self.phase_ns,
        }
    }

    /// The same schedule, cut into `slices`, which together are as long as it is: messages that are due
    /// in its own time after the last slice are due at the end of that slice. Equal gaps begin within
    /// the first gap.
    #[must_use]
    pub fn in_slices(mut self, slices: &Slices) -> Self {
        for due_ns in &mut self.due_ns {
            *due_ns = slices.at_ns(*due_ns - self.phase_ns);
        }
        self
    }

    /// When each message is due in a case's own time of `own_ns`, in order, in nanoseconds: equal gaps begin
    /// within the first gap. What rounding puts behind that time is not due.
    pub fn own_due_ns(&self, own_ns: u64) -> impl Iterator<Item = u64> {
        self.all_due_ns()
            .map(|due_ns| due_ns - self.phase_ns)
            .take_while(move |&due_ns| due_ns <= own_ns)
    }

    /// How many messages the schedule holds: rate × duration, in whole bursts.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// When message `index` is due, in nanoseconds after the start.
    ///
    /// # Panics
    /// When the schedule has no such message.
    pub fn due_ns(&self, index: u64) -> u64 {
        self.due_ns[(index / self.burst) as usize]
    }

    /// When each message is due, in order, in nanoseconds after the start.
    pub fn all_due_ns(&self) -> impl Iterator<Item = u64> {
        (0..self.messages).map(|index| self.due_ns(index))
    }

    /// How many messages are due at `elapsed_ns` after the start, given that `released` were
    /// already released.
    pub fn due_count(&self, released: u64, elapsed_ns: u64) -> u64 {
        let first = (released / self.burst) as usize;
        let due = self.due_ns[first..]
            .iter()
            .take_while(|&&due_ns| due_ns <= elapsed_ns)
            .count();
        due as u64 * self.burst
    }
}

/// When each of `bursts` is due, in nanoseconds after the start: in order, and none later than
/// `duration_ns`. A Poisson process that has so many by then: sums of exponential gaps, divided by one
/// more of them, are uniform and in order.
fn poisson_due_ns(bursts: u64, duration_ns: u64, generator: &mut Generator) -> Vec<u64> {
    let mut sum = 0.0;
    let mut next = || {
        sum -= generator.unit_open().ln();
        sum
    };
    let sums: Vec<f64> = (0..bursts).map(|_| next()).collect();
    let scale_ns = duration_ns as f64 / next();
    sums.into_iter()
        .map(|sum| ((sum * scale_ns) as u64).min(duration_ns))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_due_after_the_duration_whatever_the_arrivals() {
        for arrival in [Arrival::Constant, Arrival::Poisson, Arrival::OnOff] {
            for seed in 0..50 {
                let schedule = Schedule::new(10_000.0, arrival, 1, 100_000_000, seed).unwrap();
                assert_eq!(schedule.messages(), 1_000);
                assert!(schedule.all_due_ns().all(|due_ns| due_ns <= 100_000_000));
            }
        }
    }

    #[test]
    fn slices_have_the_messages_that_are_due_in_them_and_the_last_one_no_more() {
        let slice_ns = 20_000_000;
        let begins_ns: Vec<u64> = (0..5).map(|slice| slice * 3 * slice_ns).collect();
        let slices = Slices::new(begins_ns, slice_ns).unwrap();
        for seed in 0..50 {
            let made = Schedule::new(10_000.0, Arrival::Poisson, 1, 5 * slice_ns, seed).unwrap();
            let mut counts = [0; 5];
            for due_ns in made.in_slices(&slices).all_due_ns() {
                counts[slices.measuring(due_ns, 0).unwrap()] += 1;
            }
            // 200 each, with a deviation of 14.
            assert!(
                counts.iter().all(|count| (120..280).contains(count)),
                "{counts:?}"
            );
        }
    }

    #[test]
    fn bursts_as_far_apart_as_slices_are_long_are_due_within_these() {
        let slice_ns = 10_000_000;
        for slices_a_gap in [(1, 1), (1, 2), (1, 4), (2, 3), (3, 1)] {
            let gap_ns = slice_ns * slices_a_gap.0 / slices_a_gap.1;
            let begins_ns: Vec<u64> = (0..30).map(|slice| slice * 2 * slice_ns).collect();
            let slices = Slices::new(begins_ns, slice_ns).unwrap();
            let rate_per_s = 100.0 * 1e9 / gap_ns as f64;
            let made = Schedule::new(rate_per_s, Arrival::Constant, 100, 30 * slice_ns, 1).unwrap();
            let sliced = made.clone().in_slices(&slices);
            assert_eq!(sliced.messages(), made.messages());
            for due_ns in sliced.all_due_ns() {
                let into_ns = due_ns % (2 * slice_ns);
                let edge_ns = into_ns.min(slice_ns - into_ns);
                assert!(edge_ns > gap_ns / 50, "{slices_a_gap:?}: {into_ns}");
            }
        }
    }

    #[test]
    fn what_rounding_puts_behind_a_cases_own_time_is_not_due() {
        // 2.9 messages, rounded to 3, and the third 38 % of a gap earlier than a whole gap: in time.
        let schedule = Schedule::new(2_900.0, Arrival::Constant, 1, 1_000_000, 0).unwrap();
        assert_eq!(schedule.own_due_ns(1_000_000).count(), 3);
        // 2.55 messages: the third would be due after 1.03 ms.
        let schedule = Schedule::new(2_550.0, Arrival::Constant, 1, 1_000_000, 0).unwrap();
        let due_ns: Vec<u64> = schedule.own_due_ns(1_000_000).collect();
        assert_eq!((schedule.messages(), due_ns.len()), (3, 2));
        assert_eq!(due_ns, [242_366, 634_523]);
    }

    #[test]
    fn constant_gaps_are_equal_and_do_not_drift() {
        let schedule = Schedule::new(1_000.0, Arrival::Constant, 1, 2_000_000_000, 0).unwrap();
        assert_eq!(schedule.messages(), 2_000);
        assert_eq!(schedule.due_ns(0), 1_000_000);
        assert_eq!(schedule.due_ns(1_999), 2_000_000_000);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let schedule = Schedule::new(10_000.0, Arrival::Poisson, 1, 10_000_000_000, 3).unwrap();
        let gaps: Vec<f64> = (1..schedule.messages())
            .map(|i| (schedule.due_ns(i) - schedule.due_ns(i - 1)) as f64)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 100_000.0 - 1.0).abs() < 0.02, "mean {mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02);
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let make =
            |rate, burst, duration| Schedule::new(rate, Arrival::Constant, burst, duration, 0);
        assert!(matches!(make(0.0, 1, 1), Err(ScheduleError::Rate(_))));
        assert!(matches!(make(f64::NAN, 1, 1), Err(ScheduleError::Rate(_))));
        assert_eq!(make(1.0, 0, 1), Err(ScheduleError::Burst));
        assert!(matches!(
            make(1.0, 1, 1_000),
            Err(ScheduleError::Duration { .. })
        ));
        assert!(matches!(
            make(1e12, 1, 1_000_000_000),
            Err(ScheduleError::Messages(_))
        ));
    }

    proptest! {
        #[test]
        fn nothing_is_due_before_its_time_and_everything_after(
            rate in 1.0f64..1e6, burst in 1u64..70, kind in 0usize..3, seed: u64, steps in proptest::collection::vec(0u64..5_000_000, 1..50)
        ) {
            let arrival = [Arrival::Constant, Arrival::Poisson, Arrival::OnOff][kind];
            let schedule = Schedule::new(rate, arrival, burst, 5_000_000_000u64.min((2e12 / rate) as u64).max((1.1e9 * burst as f64 / rate) as u64), seed).unwrap();
            let (mut released, mut now) = (0, 0);
            for step in steps {
                now += step;
                released += schedule.due_count(released, now);
                if released > 0 { prop_assert!(schedule.due_ns(released - 1) <= now); }
                if released < schedule.messages() { prop_assert!(schedule.due_ns(released) > now); }
            }
        }
    }
}
