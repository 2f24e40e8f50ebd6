//! `competitive`: a write when the delays of all held messages together have come to the price of a write.
//!
//! With `n` messages held whose times of arrival sum to `S`, that is at `(price + S) ÷ n`. The sum of all
//! delays and of `price` for each write is then never more than twice the least that could be reached
//! if all arrivals were known beforehand (`proof/`), and no deterministic rule that does not know them
//! does better: D. R. Dooly, S. A. Goldman and S. D. Scott, "On-line analysis of the TCP
//! acknowledgment delay problem", Journal of the ACM 48(2), 2001.

use super::{Moment, Policy};
use crate::Reason;

/// The writing thread need not be told of a sooner deadline if coming late adds no more delay than this
/// part of the price: a message that shortens a hold by little is not worth a wake-up.
const TOLERATED_SHARE: u64 = 16;

#[derive(Debug)]
pub(in super::super) struct Competitive {
    price_ns: u64,
    /// No message is held for longer than this.
    most_ns: u64,
    /// How many messages are held, and when the last of them came.
    held: u64,
    last_ns: u64,
    /// What was left of the price then: the price less the delays until then of all that were held.
    left_ns: u64,
    /// When what is held is due.
    deadline_ns: u64,
}

impl Policy for Competitive {
    /// A message that comes at the deadline, or after it because a timer is late, leaves at once in the
    /// same write as what is held: it has no delay, and needs no write of its own.
    fn on_message(&mut self, at: Moment) -> Option<Reason> {
        if at.held_since_ns.is_none() {
            self.begin(at.now_ns);
            return None;
        }
        let is_due = at.now_ns >= self.deadline_ns;
        self.join(at.now_ns);
        is_due.then_some(Reason::Deadline)
    }

    fn on_tick(&mut self, at: Moment, _: bool) -> Option<Reason> {
        let is_due = at.held_since_ns.is_some() && at.now_ns >= self.deadline_ns;
        is_due.then_some(Reason::Deadline)
    }

    /// With threads: the sender must look at once if what is held was due when the last message came.
    fn look_at(&self) -> u64 {
        if self.last_ns >= self.deadline_ns {
            0
        } else {
            u64::MAX
        }
    }

    fn on_look(&mut self, at: Moment) -> bool {
        at.held_since_ns.is_some() && at.now_ns >= self.deadline_ns
    }

    fn waits_for_time(&self) -> bool {
        true
    }

    fn watches_time(&self) -> bool {
        true
    }

    fn deadline_ns(&self) -> Option<u64> {
        Some(self.deadline_ns)
    }

    fn is_too_late(&self, visit_ns: u64) -> bool {
        let late_ns = visit_ns.saturating_sub(self.deadline_ns);
        self.held.saturating_mul(late_ns) > self.price_ns / TOLERATED_SHARE
    }
}

impl Competitive {
    /// `most_ns`: how long a message is held at most; a single message is held for the price.
    pub(super) fn new(price_ns: u64, most_ns: u64) -> Self {
        Self {
            price_ns,
            most_ns,
            held: 0,
            last_ns: 0,
            left_ns: price_ns,
            deadline_ns: 0,
        }
    }

    /// The first message of a batch comes.
    fn begin(&mut self, now_ns: u64) {
        self.held = 1;
        self.last_ns = now_ns;
        self.left_ns = self.price_ns;
        self.deadline_ns = now_ns.saturating_add(self.price_ns.min(self.most_ns));
    }

    /// One more message comes. The deadline is `last_ns + left_ns ÷ held`, rounded up, which is
    /// `(price + S) ÷ n` without sums that grow with the clock.
    ///
    /// The deadline only moves earlier. Let `T` be the deadline before rounding, and `a ≤ T` the time of
    /// the new message. `n × (T − a)` is left of the price, for `n + 1` messages from now on, so that
    /// `T' = a + n × (T − a) ÷ (n + 1)`, and `a ≤ T' ≤ T`; rounding up keeps the order. After
    /// the deadline nothing is left, and it stays where it was.
    fn join(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.last_ns);
        let spent_ns = self.held.saturating_mul(passed_ns);
        self.left_ns = self.left_ns.saturating_sub(spent_ns);
        self.held += 1;
        self.last_ns = self.last_ns.max(now_ns);
        let own_ns = self
            .last_ns
            .saturating_add(self.left_ns.div_ceil(self.held));
        self.deadline_ns = self.deadline_ns.min(own_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Have messages come at these times. Returns the deadline after each.
    fn deadlines_ns(price_ns: u64, most_ns: u64, arrivals_ns: &[u64]) -> Vec<u64> {
        let mut policy = Competitive::new(price_ns, most_ns);
        let messages = arrivals_ns.iter().enumerate();
        messages
            .map(|(index, &now_ns)| {
                let _ = policy.on_message(Moment {
                    now_ns,
                    messages: index as u64,
                    held_since_ns: (index > 0).then_some(arrivals_ns[0]),
                    is_blocked: false,
                });
                policy.deadline_ns
            })
            .collect()
    }

    #[test]
    fn a_message_alone_waits_for_as_long_as_a_write_costs() {
        assert_eq!(deadlines_ns(5_000, u64::MAX, &[1_000]), [6_000]);
        assert_eq!(deadlines_ns(5_000, 300, &[1_000]), [1_300]);
    }

    #[test]
    fn a_burst_shares_the_price() {
        let burst = [1_000; 4];
        let deadlines = [6_000, 3_500, 2_667, 2_250];
        assert_eq!(deadlines_ns(5_000, u64::MAX, &burst), deadlines);
    }

    #[test]
    fn the_largest_times_and_prices_do_not_overflow() {
        let end_ns = u64::MAX;
        let late = deadlines_ns(end_ns, end_ns, &[end_ns - 10, end_ns - 5, end_ns]);
        assert_eq!(late, [end_ns; 3]);
        assert_eq!(deadlines_ns(end_ns, end_ns, &[0, 0])[1], end_ns / 2 + 1);
    }

    #[test]
    fn a_writing_thread_is_told_unless_its_coming_late_costs_little() {
        let mut policy = Competitive::new(1_600, u64::MAX);
        for messages in 0..4 {
            let held_since_ns = (messages > 0).then_some(0);
            let _ = policy.on_message(Moment {
                now_ns: 0,
                messages,
                held_since_ns,
                is_blocked: false,
            });
        }
        assert_eq!(policy.deadline_ns, 400);
        // 25 ns later for each of four messages costs 100 ns, a sixteenth of the price.
        assert!(!policy.is_too_late(0) && !policy.is_too_late(425));
        assert!(policy.is_too_late(426) && policy.is_too_late(u64::MAX));
    }

    proptest! {
        #[test]
        fn it_is_the_rule_as_it_is_written_down_and_only_moves_earlier(
            price_ns in 1u64..100_000,
            start_ns in 0u64..1_000_000_000_000,
            gaps_ns in prop::collection::vec(0u64..2_000, 0..200),
        ) {
            let mut arrivals_ns = vec![start_ns];
            for gap_ns in gaps_ns {
                arrivals_ns.push(arrivals_ns[arrivals_ns.len() - 1] + gap_ns);
            }
            let deadlines_ns = deadlines_ns(price_ns, u64::MAX, &arrivals_ns);
            let (mut sum_ns, mut before_ns) = (0, u64::MAX);
            for (index, (&now_ns, &deadline_ns)) in arrivals_ns.iter().zip(&deadlines_ns).enumerate() {
                prop_assert!(deadline_ns <= before_ns);
                if now_ns > before_ns {
                    // The batch would have left by now.
                    prop_assert_eq!(deadline_ns, before_ns);
                    break;
                }
                sum_ns += now_ns;
                prop_assert_eq!(deadline_ns, (price_ns + sum_ns).div_ceil(index as u64 + 1));
                prop_assert!(deadline_ns >= now_ns);
                before_ns = deadline_ns;
            }
        }
    }
}
