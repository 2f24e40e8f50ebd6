//! The least that delay and writes together can cost when all arrivals are known beforehand.
//!
//! The problem is that of acknowledging TCP segments: D. R. Dooly, S. A. Goldman and S. D. Scott,
//! "On-line analysis of the TCP acknowledgment delay problem", Journal of the ACM 48(2), 2001, whose
//! objective is the sum of all delays and a cost for each acknowledgement; here, for each write.
//! The result is a lower bound: writes take no time, and a batch has no limit.

use std::{collections::VecDeque, iter};

/// The cost of the best plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Optimum {
    /// How long all messages wait together, in nanoseconds.
    pub delay_ns: u64,
    /// How many writes there are.
    pub writes: u64,
}

/// A way to have sent the first `sent` messages: the cost of a next batch is a line over the time of
/// its write.
#[derive(Clone, Copy, Debug)]
struct Line {
    sent: u64,
    /// The cost so far, and the sum of the arrival times of what was sent.
    intercept: i128,
    /// How much of the cost so far is delay, and how many writes there were.
    so_far: Optimum,
}

impl Line {
    fn at(&self, now_ns: i128) -> i128 {
        self.intercept - i128::from(self.sent) * now_ns
    }

    /// Whether this line, which is between an earlier and a later one, is nowhere the lowest.
    fn is_hidden(&self, before: &Line, after: &Line) -> bool {
        let (first, second) = (
            i128::from(self.sent - before.sent),
            i128::from(after.sent - self.sent),
        );
        // `after` passes below `self` no later than `self` passes below `before`.
        (after.intercept - self.intercept) * first <= (self.intercept - before.intercept) * second
    }
}

/// The least of the sum of all delays plus `write_cost_ns` for each write, for messages that arrive
/// at `arrivals_ns`, which must not decrease.
///
/// A batch leaves best with the arrival of its last message. With `C(j)` for the first `j` messages,
/// `C(j) = min over i < j of C(i) + write_cost + Σ (a_j − a_k) for i < k ≤ j`: for each `i` a line
/// over `a_j` with the slope `−i`. Slopes fall and times rise, so the lowest line is kept at the
/// front of a queue, and the whole is O(n) (the convex hull of lines).
pub fn offline_optimum(arrivals_ns: impl IntoIterator<Item = u64>, write_cost_ns: u64) -> Optimum {
    let nothing = Line {
        sent: 0,
        intercept: 0,
        so_far: Optimum::default(),
    };
    let mut lines = VecDeque::from([nothing]);
    let mut sum_ns: u128 = 0;
    let mut best = Optimum::default();
    let mut arrivals = arrivals_ns.into_iter().peekable();
    let mut sent = 0;
    while let Some(now_ns) = arrivals.next() {
        // All messages that arrive at one instant leave together.
        let count = 1 + iter::from_fn(|| arrivals.next_if_eq(&now_ns)).count() as u64;
        sent += count;
        sum_ns += u128::from(now_ns) * u128::from(count);
        let at_ns = i128::from(now_ns);
        while lines.len() > 1 && lines[1].at(at_ns) <= lines[0].at(at_ns) {
            lines.pop_front();
        }
        let from = lines[0];
        // The sum of the delays of the batch, without the cost so far.
        let cost_before = i128::from(from.so_far.delay_ns)
            + i128::from(from.so_far.writes) * i128::from(write_cost_ns);
        let batch_delay = from.at(at_ns) - cost_before + i128::from(sent) * at_ns - sum_ns as i128;
        best = Optimum {
            delay_ns: from.so_far.delay_ns + batch_delay as u64,
            writes: from.so_far.writes + 1,
        };
        let cost = i128::from(best.delay_ns) + i128::from(best.writes) * i128::from(write_cost_ns);
        let line = Line {
            sent,
            intercept: cost + sum_ns as i128,
            so_far: best,
        };
        while lines.len() > 1 && lines[lines.len() - 1].is_hidden(&lines[lines.len() - 2], &line) {
            lines.pop_back();
        }
        lines.push_back(line);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cost(optimum: Optimum, write_cost_ns: u64) -> u64 {
        optimum.delay_ns + optimum.writes * write_cost_ns
    }

    /// Every way to cut the messages into batches.
    fn by_brute_force(arrivals_ns: &[u64], write_cost_ns: u64) -> u64 {
        let cuts = arrivals_ns.len() - 1;
        (0..1u32 << cuts)
            .map(|ways| {
                let mut total = 0;
                let mut first = 0;
                for at in 0..arrivals_ns.len() {
                    if at == cuts || ways & (1 << at) != 0 {
                        let batch = &arrivals_ns[first..=at];
                        let delays: u64 = batch.iter().map(|own| arrivals_ns[at] - own).sum();
                        total += write_cost_ns + delays;
                        first = at + 1;
                    }
                }
                total
            })
            .min()
            .unwrap()
    }

    #[test]
    fn nothing_costs_nothing_and_one_message_one_write() {
        assert_eq!(offline_optimum([], 5), Optimum::default());
        let one = Optimum {
            delay_ns: 0,
            writes: 1,
        };
        assert_eq!(offline_optimum([7], 5), one);
        assert_eq!(offline_optimum([7; 64], 5), one, "a burst is one write");
    }

    #[test]
    fn messages_wait_for_each_other_only_while_that_is_cheaper_than_a_write() {
        let near = offline_optimum([0, 3], 4);
        assert_eq!((near.delay_ns, near.writes), (3, 1));
        let far = offline_optimum([0, 5], 4);
        assert_eq!((far.delay_ns, far.writes), (0, 2));
    }

    #[test]
    fn a_hundred_million_nanoseconds_of_messages_do_not_overflow() {
        let arrivals = (0..1_000_000u64).map(|index| index * 1_000_000);
        let optimum = offline_optimum(arrivals, 1_000_000_000);
        assert!(optimum.writes > 1 && optimum.delay_ns > 0);
    }

    proptest! {
        #[test]
        fn it_is_what_trying_everything_finds(
            gaps in proptest::collection::vec(0u64..30, 1..12), write_cost_ns in 0u64..60
        ) {
            let arrivals: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
            let found = offline_optimum(arrivals.iter().copied(), write_cost_ns);
            prop_assert_eq!(cost(found, write_cost_ns), by_brute_force(&arrivals, write_cost_ns));
        }

        #[test]
        fn dearer_writes_make_no_more_of_them(
            gaps in proptest::collection::vec(0u64..3_000, 1..300), low in 0u64..5_000, more in 0u64..5_000
        ) {
            let arrivals: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
            let cheap = offline_optimum(arrivals.iter().copied(), low);
            let dear = offline_optimum(arrivals.iter().copied(), low + more);
            prop_assert!(cost(cheap, low) <= cost(dear, low));
            prop_assert!(cost(dear, low + more) <= cost(cheap, low + more));
        }
    }
}
