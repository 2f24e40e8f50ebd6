//! When `adaptive` has the sender write itself, and when it has messages gather.
//!
//! A write costs a few microseconds; to wake the writing thread, and to change to it and back, costs
//! two or three times as much, and on a busy core the thread comes when the scheduler lets it. So a
//! few messages at a time are written by who sends them. What comes in larger bursts is left to the
//! writing thread, which then writes it as one. And where messages keep coming as soon as the last
//! were written, nobody wakes it: whoever sends next when they have waited long enough writes them,
//! and the thread looks now and then for the rest (it polls, as Linux's NAPI does with packets).

/// After this time without a write a burst has ended: about a write's cost; where the writing thread
/// wrote last, about that of changing back from it, too.
const GAP_NS: u64 = 5_000;
const GAP_AFTER_THREAD_NS: u64 = 10_000;
/// A burst of so many is written message by message.
const FEW: u64 = 8;
/// So few since it last came are not worth that the writing thread comes by itself.
const RARE: u64 = 4;
/// What the writing thread, though told, has not come for in this time is written by who sends next.
const RESCUE_NS: u64 = 100_000;
/// The same where the thread polls.
const HOLD_NS: u64 = 20_000;
/// So soon after its last write the thread was told, and so many times in a row, before it polls.
const EARLY_NS: u64 = 20_000;
const EARLY_WAKES: u32 = 8;
/// How often it comes then.
const POLL_NS: u64 = 50_000;
/// Who sends messages so close together does nothing else, and gains from larger writes.
const DENSE_NS: u64 = 3_000;
/// Who has done nothing else for four times as long may as well do it a little longer: a batch
/// costs more here than in a loop, where it is sixteen times (decision 0007).
const BUSY_SHARE: u64 = 4;
/// So many times a hold somebody looks whether it is over; a sender at every 64th message at least.
const LOOKS: u64 = 4;
const MOST_STEP: u64 = 64;

/// All times are nanoseconds of one clock; `messages`: how many were handed over so far.
#[derive(Debug)]
pub(super) struct Adaptive {
    /// No message is held longer, as far as the scheduler lets somebody write it.
    most_ns: u64,
    hold_ns: u64,
    /// From one message of the last batch to the next.
    step_ns: u64,
    /// Before the first message of the burst, of what is held, since the writing thread came.
    before_burst: u64,
    before_batch: u64,
    before_visit: u64,
    was_large: bool,
    expects_many: bool,
    /// At this message the sender looks at the clock.
    look_at: u64,
    last_write_ns: u64,
    /// Without a write since, for a burst to have ended.
    gap_ns: u64,
    early_wakes: u32,
    /// Since when messages have been close together, while the thread polls.
    dense_since_ns: u64,
}

impl Adaptive {
    pub(super) fn new(most_ns: u64) -> Self {
        Self {
            most_ns,
            hold_ns: RESCUE_NS.min(most_ns),
            step_ns: DENSE_NS,
            before_burst: 0,
            before_batch: 0,
            before_visit: 0,
            was_large: false,
            expects_many: false,
            look_at: 0,
            last_write_ns: 0,
            gap_ns: GAP_NS,
            early_wakes: 0,
            dense_since_ns: 0,
        }
    }

    /// Whether the writing thread comes by itself.
    pub(super) fn polls(&self) -> bool {
        self.early_wakes >= EARLY_WAKES
    }

    /// A message comes while nothing is held: whether its sender is to write it.
    pub(super) fn on_message(&mut self, messages: u64, now_ns: u64) -> bool {
        if now_ns.saturating_sub(self.last_write_ns) >= self.gap_ns {
            let was_large = messages - self.before_burst > FEW;
            // The thread may have cut a large one in two.
            self.expects_many = was_large || self.was_large;
            self.was_large = was_large;
            self.before_burst = messages;
        }
        !self.polls() && !self.expects_many && messages - self.before_burst < FEW
    }

    /// A message is held, the first of a batch.
    pub(super) fn on_first_held(&mut self, messages: u64) {
        self.before_batch = messages;
        self.look_later(messages);
    }

    fn look_later(&mut self, messages: u64) {
        let step = self.hold_ns / LOOKS / self.step_ns.max(1);
        self.look_at = messages + step.clamp(1, MOST_STEP);
    }

    /// Whether the sender of another message is to `look`.
    #[inline]
    pub(super) fn is_to_look(&self, messages: u64) -> bool {
        messages >= self.look_at
    }

    /// Whether that sender is to write what is held.
    pub(super) fn look(&mut self, messages: u64, held_since_ns: u64, now_ns: u64) -> bool {
        self.look_later(messages);
        now_ns.saturating_sub(held_since_ns) >= self.hold_ns
    }

    /// A batch that gathered since `held_since_ns` is about to be written.
    pub(super) fn on_batch(&mut self, messages: u64, held_since_ns: u64, now_ns: u64) {
        let batch = messages.saturating_sub(self.before_batch).max(1);
        self.step_ns = now_ns.saturating_sub(held_since_ns) / batch;
        self.before_batch = messages;
        if !self.polls() {
            self.dense_since_ns = now_ns;
            self.hold_ns = RESCUE_NS.min(self.most_ns);
            return;
        }
        if self.step_ns >= DENSE_NS {
            self.dense_since_ns = now_ns;
        }
        let busy_ns = now_ns.saturating_sub(self.dense_since_ns);
        // After that the writing thread comes, a part of it later at most.
        let most_ns = self.most_ns - self.most_ns / (LOOKS + 1);
        self.hold_ns = HOLD_NS.max(busy_ns / BUSY_SHARE).min(most_ns);
    }

    pub(super) fn on_written(&mut self, end_ns: u64, is_by_thread: bool) {
        self.last_write_ns = end_ns;
        self.gap_ns = if is_by_thread {
            GAP_AFTER_THREAD_NS
        } else {
            GAP_NS
        };
    }

    /// The writing thread comes; `held_since_ns`: when the first came of what is held, if anything
    /// is. Whether it is to write that.
    pub(super) fn on_visit(
        &mut self,
        messages: u64,
        held_since_ns: Option<u64>,
        now_ns: u64,
    ) -> bool {
        let came = messages - self.before_visit;
        self.before_visit = messages;
        if self.polls() {
            if came < RARE {
                self.early_wakes = 0;
            }
        } else if let Some(since_ns) = held_since_ns {
            let is_early = since_ns < self.last_write_ns.saturating_add(EARLY_NS)
                && self.most_ns >= 2 * POLL_NS;
            self.early_wakes = if is_early { self.early_wakes + 1 } else { 0 };
            if self.polls() {
                self.hold_ns = HOLD_NS.min(self.most_ns);
            }
        }
        held_since_ns.is_some_and(|since_ns| {
            !self.polls() || now_ns.saturating_sub(since_ns) >= self.hold_ns
        })
    }

    /// When the writing thread is to come again by itself; `None`: when it is told.
    pub(super) fn next_poll_ns(&self, now_ns: u64) -> Option<u64> {
        let poll_ns = POLL_NS
            .max(self.hold_ns / LOOKS)
            .min(self.most_ns.saturating_sub(self.hold_ns));
        self.polls().then(|| now_ns.saturating_add(poll_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_NS: u64 = 1_000_000;

    /// A message while nothing is held, written by its sender in 4 µs if the adaptive has it so; whether
    /// it had.
    fn single(adaptive: &mut Adaptive, messages: &mut u64, now_ns: &mut u64) -> bool {
        let is_written = adaptive.on_message(*messages, *now_ns);
        if !is_written {
            adaptive.on_first_held(*messages);
        }
        *messages += 1;
        if is_written {
            *now_ns += 4_000;
            adaptive.on_written(*now_ns, false);
        }
        is_written
    }

    /// The writing thread comes for what is held since now, and writes it in 4 µs; whether it was due.
    fn visit(adaptive: &mut Adaptive, messages: u64, now_ns: &mut u64) -> bool {
        let is_due = adaptive.on_visit(messages, Some(*now_ns), *now_ns);
        adaptive.on_batch(messages, *now_ns, *now_ns);
        *now_ns += 4_000;
        adaptive.on_written(*now_ns, true);
        is_due
    }

    /// So many messages at once; how many of them their sender wrote.
    fn burst(adaptive: &mut Adaptive, burst: u64, messages: &mut u64, now_ns: &mut u64) -> u64 {
        for written in 0..burst {
            if !single(adaptive, messages, now_ns) {
                *messages += burst - written - 1;
                assert!(visit(adaptive, *messages, now_ns));
                return written;
            }
        }
        burst
    }

    /// The writing thread is told of one message, again and again, as soon as it wrote the last: it
    /// polls.
    fn poll(adaptive: &mut Adaptive, messages: &mut u64, now_ns: &mut u64) {
        adaptive.on_written(*now_ns, true);
        for _ in 0..EARLY_WAKES {
            adaptive.on_first_held(*messages);
            *messages += 1;
            visit(adaptive, *messages, now_ns);
        }
        assert!(adaptive.next_poll_ns(*now_ns).is_some());
    }

    #[test]
    fn messages_that_come_singly_are_written_by_their_senders() {
        let mut adaptive = Adaptive::new(LONG_NS);
        let (mut messages, mut now_ns) = (0, LONG_NS);
        for _ in 0..100 {
            assert!(single(&mut adaptive, &mut messages, &mut now_ns));
            now_ns += GAP_NS;
        }
    }

    #[test]
    fn a_burst_is_written_by_its_sender_as_far_as_it_is_small_and_the_next_one_expected_to_be_like_it()
     {
        let mut adaptive = Adaptive::new(LONG_NS);
        let (mut messages, mut now_ns) = (0, LONG_NS);
        for (of_burst, written) in [(8, 8), (16, 8), (16, 0), (1, 0), (1, 0), (8, 8)] {
            let found = burst(&mut adaptive, of_burst, &mut messages, &mut now_ns);
            assert_eq!(found, written, "of {of_burst}");
            now_ns += LONG_NS;
        }
    }

    #[test]
    fn a_burst_goes_on_after_the_writing_thread_has_been_there() {
        let mut adaptive = Adaptive::new(LONG_NS);
        let (mut messages, mut now_ns) = (0, LONG_NS);
        burst(&mut adaptive, 16, &mut messages, &mut now_ns);
        now_ns += LONG_NS;
        for _ in 0..3 {
            // The thread took the core from the sender after each message of a large burst.
            assert_eq!(burst(&mut adaptive, 1, &mut messages, &mut now_ns), 0);
            now_ns += GAP_AFTER_THREAD_NS - 1;
        }
    }

    #[test]
    fn who_sends_writes_what_the_writing_thread_does_not_come_for() {
        let mut adaptive = Adaptive::new(LONG_NS);
        adaptive.on_first_held(0);
        let mut looks = 0;
        for message in 1.. {
            let now_ns = LONG_NS + 1_000 * message;
            if adaptive.is_to_look(message) {
                looks += 1;
                if adaptive.look(message, LONG_NS, now_ns) {
                    let held_ns = now_ns - LONG_NS;
                    assert!((RESCUE_NS..2 * RESCUE_NS).contains(&held_ns), "{held_ns}");
                    break;
                }
            }
        }
        assert!(looks < 20, "{looks}");
    }

    #[test]
    fn where_the_writing_thread_polls_nobody_writes_single_messages() {
        let mut adaptive = Adaptive::new(LONG_NS);
        let (mut messages, mut now_ns) = (0, LONG_NS);
        poll(&mut adaptive, &mut messages, &mut now_ns);
        assert!(!single(&mut adaptive, &mut messages, &mut now_ns));
        assert_eq!(adaptive.next_poll_ns(now_ns), Some(now_ns + POLL_NS));
        let since_ns = now_ns;
        messages += RARE;
        assert!(!adaptive.on_visit(messages, Some(since_ns), since_ns + HOLD_NS - 1));
        messages += RARE;
        assert!(adaptive.on_visit(messages, Some(since_ns), since_ns + HOLD_NS));
        // They become rare: what is held leaves, and then the thread is to be told.
        assert!(adaptive.on_visit(messages + 1, Some(now_ns), now_ns));
        assert_eq!(adaptive.next_poll_ns(now_ns), None);
    }

    #[test]
    fn who_does_nothing_but_send_holds_for_a_quarter_of_that_time_and_no_longer_than_it_may() {
        let mut adaptive = Adaptive::new(LONG_NS);
        let (mut messages, mut now_ns) = (0, LONG_NS);
        poll(&mut adaptive, &mut messages, &mut now_ns);
        let begun_ns = now_ns;
        let mut longest_ns = 0;
        while now_ns < begun_ns + 8 * LONG_NS {
            let since_ns = now_ns;
            adaptive.on_first_held(messages);
            loop {
                messages += 1;
                now_ns += 100;
                if adaptive.is_to_look(messages) && adaptive.look(messages, since_ns, now_ns) {
                    break;
                }
            }
            let held_ns = now_ns - since_ns;
            let may_ns = HOLD_NS.max((since_ns - begun_ns) / BUSY_SHARE).min(LONG_NS);
            // A look comes every 64 messages, and polling began a little earlier.
            assert!(held_ns < may_ns + 10_000, "{held_ns} {may_ns}");
            longest_ns = longest_ns.max(held_ns);
            adaptive.on_batch(messages, since_ns, now_ns);
            adaptive.on_written(now_ns, false);
        }
        assert!(longest_ns >= LONG_NS * 4 / 5);
        // Messages with time between them end that.
        adaptive.on_batch(messages + 4, now_ns, now_ns + HOLD_NS);
        adaptive.on_batch(messages + 8, now_ns + HOLD_NS, now_ns + 2 * HOLD_NS);
        adaptive.on_first_held(messages);
        assert!(adaptive.look(messages, now_ns, now_ns + HOLD_NS));
    }

    #[test]
    fn who_begins_to_poll_comes_after_a_while_whatever_the_bound() {
        let mut adaptive = Adaptive::new(2 * POLL_NS);
        adaptive.on_written(LONG_NS, true);
        for wake in 0..u64::from(EARLY_WAKES) {
            adaptive.on_first_held(wake);
            adaptive.on_visit(wake + 1, Some(LONG_NS), LONG_NS);
        }
        assert_eq!(adaptive.next_poll_ns(LONG_NS), Some(LONG_NS + POLL_NS));
    }

    #[test]
    fn a_bound_below_all_that_is_kept_too() {
        let mut adaptive = Adaptive::new(7_000);
        for turn in 0..2 * u64::from(EARLY_WAKES) {
            adaptive.on_first_held(turn);
            assert!(!adaptive.look(turn, LONG_NS, LONG_NS + 6_999));
            assert!(adaptive.look(turn, LONG_NS, LONG_NS + 7_000));
            // The writing thread is always told.
            assert!(adaptive.on_visit(turn + 1, Some(LONG_NS), LONG_NS));
            assert_eq!(adaptive.next_poll_ns(LONG_NS), None);
        }
    }
}
