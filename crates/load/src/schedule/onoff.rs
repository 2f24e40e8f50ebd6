//! Arrivals that come and stop, faster and slower: a test for rules that learn from the past.
//!
//! On and off alternate, the first phase is on, and each lasts 1 to 4 ms, uniform. In an on-phase
//! bursts come at a quarter, at one or at four times a common rate, drawn anew for each; in an
//! off-phase none comes. Within a phase the gaps are random (a Poisson process). The common rate is
//! such that the whole has exactly the bursts that were asked for.

use crate::generator::Generator;

const SHORTEST_PHASE_NS: u64 = 1_000_000;
const LONGEST_PHASE_NS: u64 = 4_000_000;
/// Rates of the on-phases, as multiples of the slowest.
const RATES: [f64; 3] = [1.0, 4.0, 16.0];

/// A time with bursts, and how many are expected until its end, in units of their own.
struct Phase {
    start_ns: u64,
    rate: f64,
    end: f64,
}

/// When each of `bursts` is due, in nanoseconds after the start: never decreasing, and none later
/// than `duration_ns`.
pub fn due_ns(bursts: u64, duration_ns: u64, generator: &mut Generator) -> Vec<u64> {
    let phases = on_phases(duration_ns, generator);
    let whole = phases.last().map_or(0.0, |last| last.end);
    // Sums of exponential gaps, divided by one more of them, are uniform and in order.
    let mut sum = 0.0;
    let mut next = || {
        sum -= generator.unit_open().ln();
        sum
    };
    let sums: Vec<f64> = (0..bursts).map(|_| next()).collect();
    let scale = whole / next();
    let mut current = 0;
    sums.into_iter()
        .map(|sum| {
            let at = sum * scale;
            while current + 1 < phases.len() && phases[current].end <= at {
                current += 1;
            }
            let phase = &phases[current];
            let before = current.checked_sub(1).map_or(0.0, |last| phases[last].end);
            let into_ns = ((at - before) / phase.rate) as u64;
            (phase.start_ns + into_ns).min(duration_ns)
        })
        .collect()
}

fn on_phases(duration_ns: u64, generator: &mut Generator) -> Vec<Phase> {
    let mut phases = Vec::new();
    let (mut start_ns, mut end) = (0, 0.0);
    while start_ns < duration_ns {
        let length_ns = generator.between(SHORTEST_PHASE_NS, LONGEST_PHASE_NS);
        let end_ns = (start_ns + length_ns).min(duration_ns);
        let rate = RATES[generator.between(0, RATES.len() as u64 - 1) as usize];
        end += rate * (end_ns - start_ns) as f64;
        phases.push(Phase {
            start_ns,
            rate,
            end,
        });
        start_ns = end_ns + generator.between(SHORTEST_PHASE_NS, LONGEST_PHASE_NS);
    }
    phases
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn made(bursts: u64, duration_ns: u64, seed: u64) -> Vec<u64> {
        due_ns(bursts, duration_ns, &mut Generator::new(seed))
    }

    #[test]
    fn nothing_comes_in_a_third_of_the_time_or_more() {
        let due = made(100_000, SECOND_NS, 1);
        let silent_ns: u64 = due
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .filter(|&gap_ns| gap_ns >= SHORTEST_PHASE_NS)
            .sum();
        let share = silent_ns as f64 / SECOND_NS as f64;
        assert!((0.35..0.65).contains(&share), "{share}");
    }

    #[test]
    fn the_rate_switches_between_on_phases_by_four_and_by_sixteen() {
        let due = made(400_000, SECOND_NS, 2);
        // Bursts in the 500 µs after each silence: what the phase's rate makes of them.
        let mut counts: Vec<f64> = due
            .windows(2)
            .filter(|pair| pair[1] - pair[0] >= SHORTEST_PHASE_NS)
            .map(|pair| {
                let from = due.partition_point(|&at| at < pair[1]);
                let to = due.partition_point(|&at| at < pair[1] + 500_000);
                (to - from) as f64
            })
            .collect();
        counts.sort_by(f64::total_cmp);
        let (slow, fast) = (counts[counts.len() / 10], counts[counts.len() * 9 / 10]);
        assert!((10.0..25.0).contains(&(fast / slow)), "{slow} {fast}");
    }

    proptest! {
        #[test]
        fn there_are_exactly_as_many_as_asked_in_order_and_in_time(
            bursts in 0u64..5_000, duration_ns in 1u64..100_000_000, seed: u64
        ) {
            let due = made(bursts, duration_ns, seed);
            prop_assert_eq!(due.len() as u64, bursts);
            prop_assert!(due.is_sorted());
            prop_assert!(due.last().is_none_or(|&last_ns| last_ns <= duration_ns));
            prop_assert_eq!(&due, &made(bursts, duration_ns, seed), "the same seed, the same times");
        }
    }
}
