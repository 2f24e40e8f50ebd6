//! When `adaptive` has the sender write itself, and when it has messages gather.
//!
//! A write costs a few microseconds; to wake the writing thread, and to change to it and back, costs
//! two or three times as much, and on a busy core the thread comes when the scheduler lets it. So a
//! few messages at a time are written by who sends them. What comes in larger bursts is left to the
//! writing thread, which then writes it as one. And where messages keep coming as soon as the last
//! were written, nobody is woken: whoever sends next when they have waited long enough writes them,
//! and the writing thread comes now and then for the rest.

/// After this time without a write a burst has ended: about a write's cost.
const GAP_NS: u64 = 5_000;
/// A burst of so many is written message by message.
const FEW: u64 = 4;
/// What waited for so long in a stream is written by who sends next.
const HOLD_NS: u64 = 20_000;
/// The same elsewhere, where the writing thread was told and should have come.
const RESCUE_NS: u64 = 100_000;
/// What comes so soon after a write that the writing thread made is part of a stream.
const SOON_NS: u64 = 20_000;
const STREAM_TURNS: u32 = 8;
/// How often the writing thread comes while there is a stream.
const TURN_NS: u64 = 50_000;
/// Who sends messages so close together does nothing else, and gains from larger writes.
const DENSE_NS: u64 = 3_000;
/// A sender that has done nothing else for four times as long may as well do it a little longer.
const BUSY_SHARE: u64 = 4;
/// A sender looks at the clock so often while messages are held, but not for more than `MOST_STEP`.
const LOOKS: u64 = 4;
const MOST_STEP: u64 = 64;

/// All times are nanoseconds of one clock; `messages`: how many were handed over so far.
#[derive(Debug)]
pub(super) struct Pace {
    /// No message is held longer while a sender does nothing but send.
    most_ns: u64,
    hold_ns: u64,
    /// From one message of the last batch to the next.
    step_ns: u64,
    /// Before the first message of the burst, of what is held, since the writing thread came.
    before_burst: u64,
    before_batch: u64,
    before_turn: u64,
    expects_many: bool,
    /// At this message the sender looks at the clock.
    look_at: u64,
    last_write_ns: u64,
    soon_turns: u32,
    /// Since when messages have been close together, in a stream.
    dense_since_ns: u64,
}

impl Pace {
    pub(super) fn new(most_ns: u64) -> Self {
        Self {
            most_ns,
            hold_ns: RESCUE_NS.min(most_ns),
            step_ns: DENSE_NS,
            before_burst: 0,
            before_batch: 0,
            before_turn: 0,
            expects_many: false,
            look_at: 0,
            last_write_ns: 0,
            soon_turns: 0,
            dense_since_ns: 0,
        }
    }

    pub(super) fn is_stream(&self) -> bool {
        self.soon_turns >= STREAM_TURNS
    }

    /// A message comes while nothing is held: whether its sender writes it.
    pub(super) fn is_written_by_sender(&mut self, messages: u64, now_ns: u64) -> bool {
        if now_ns.saturating_sub(self.last_write_ns) >= GAP_NS {
            self.expects_many = messages - self.before_burst > FEW;
            self.before_burst = messages;
        }
        !self.is_stream() && !self.expects_many && messages - self.before_burst < FEW
    }

    /// A message is held, the first of a batch.
    pub(super) fn on_first_held(&mut self, messages: u64) {
        self.before_batch = messages;
        self.look_again(messages);
    }

    fn look_again(&mut self, messages: u64) {
        let step = self.hold_ns / LOOKS / self.step_ns.max(1);
        self.look_at = messages + step.clamp(1, MOST_STEP);
    }

    /// Whether the sender of another message is to ask `is_overdue`.
    #[inline]
    pub(super) fn is_to_look(&self, messages: u64) -> bool {
        messages >= self.look_at
    }

    /// Whether a sender is to write what is held.
    pub(super) fn is_overdue(&mut self, messages: u64, held_since_ns: u64, now_ns: u64) -> bool {
        let is_overdue = now_ns.saturating_sub(held_since_ns) >= self.hold_ns;
        if !is_overdue {
            self.look_again(messages);
        }
        is_overdue
    }

    /// A batch that gathered since `held_since_ns` is about to be written.
    pub(super) fn on_batch(&mut self, messages: u64, held_since_ns: u64, now_ns: u64) {
        let batch = messages.saturating_sub(self.before_batch).max(1);
        self.step_ns = now_ns.saturating_sub(held_since_ns) / batch;
        self.before_batch = messages;
        if !self.is_stream() || self.step_ns >= DENSE_NS {
            self.dense_since_ns = now_ns;
        }
        let least_ns = if self.is_stream() { HOLD_NS } else { RESCUE_NS };
        let busy_ns = now_ns.saturating_sub(self.dense_since_ns);
        let most_ns = if self.is_stream() {
            // And then the writing thread's turn comes.
            self.most_ns - self.most_ns / (LOOKS + 1)
        } else {
            self.most_ns
        };
        self.hold_ns = least_ns.max(busy_ns / BUSY_SHARE).min(most_ns);
    }

    pub(super) fn on_written(&mut self, end_ns: u64) {
        self.last_write_ns = end_ns;
    }

    /// The writing thread comes; `held_since_ns`: when the first came of what is held, if anything is.
    /// Whether it is to write that.
    pub(super) fn on_turn(
        &mut self,
        messages: u64,
        held_since_ns: Option<u64>,
        now_ns: u64,
    ) -> bool {
        let came = messages - self.before_turn;
        self.before_turn = messages;
        if self.is_stream() {
            if came < FEW {
                self.soon_turns = 0;
            }
        } else if let Some(since_ns) = held_since_ns {
            let is_soon = since_ns < self.last_write_ns.saturating_add(SOON_NS)
                && self.most_ns >= 2 * TURN_NS;
            self.soon_turns = if is_soon { self.soon_turns + 1 } else { 0 };
        }
        held_since_ns.is_some_and(|since_ns| {
            !self.is_stream() || now_ns.saturating_sub(since_ns) >= self.hold_ns
        })
    }

    /// When the writing thread is to come again by itself; `None`: when somebody tells it to.
    pub(super) fn next_turn_ns(&self, now_ns: u64) -> Option<u64> {
        let turn_ns = TURN_NS
            .max(self.hold_ns / LOOKS)
            .min(self.most_ns.saturating_sub(self.hold_ns));
        self.is_stream().then(|| now_ns.saturating_add(turn_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_NS: u64 = 1_000_000;

    /// A message while nothing is held, written by its sender in 4 µs if the pace has it so; whether
    /// it had.
    fn single(pace: &mut Pace, messages: &mut u64, now_ns: &mut u64) -> bool {
        let is_written = pace.is_written_by_sender(*messages, *now_ns);
        if !is_written {
            pace.on_first_held(*messages);
        }
        *messages += 1;
        if is_written {
            *now_ns += 4_000;
            pace.on_written(*now_ns);
        }
        is_written
    }

    /// The writing thread comes for what is held since now, and writes it in 4 µs; whether it was due.
    fn turn(pace: &mut Pace, messages: u64, now_ns: &mut u64) -> bool {
        let is_due = pace.on_turn(messages, Some(*now_ns), *now_ns);
        pace.on_batch(messages, *now_ns, *now_ns);
        *now_ns += 4_000;
        pace.on_written(*now_ns);
        is_due
    }

    /// So many messages at once; how many of them their sender wrote.
    fn burst(pace: &mut Pace, burst: u64, messages: &mut u64, now_ns: &mut u64) -> u64 {
        for written in 0..burst {
            if !single(pace, messages, now_ns) {
                *messages += burst - written - 1;
                assert!(turn(pace, *messages, now_ns));
                return written;
            }
        }
        burst
    }

    /// The writing thread is told of one message, again and again, as soon as it wrote the last.
    fn stream(pace: &mut Pace, messages: &mut u64, now_ns: &mut u64) {
        pace.on_written(*now_ns);
        for _ in 0..STREAM_TURNS {
            pace.on_first_held(*messages);
            *messages += 1;
            turn(pace, *messages, now_ns);
        }
        assert!(pace.next_turn_ns(*now_ns).is_some());
    }

    #[test]
    fn messages_that_come_singly_are_written_by_their_senders() {
        let mut pace = Pace::new(LONG_NS);
        let (mut messages, mut now_ns) = (0, LONG_NS);
        for _ in 0..100 {
            assert!(single(&mut pace, &mut messages, &mut now_ns));
            now_ns += GAP_NS;
        }
    }

    #[test]
    fn a_burst_is_written_by_its_sender_as_far_as_it_is_small_and_the_next_one_expected_to_be_like_it()
     {
        let mut pace = Pace::new(LONG_NS);
        let (mut messages, mut now_ns) = (0, LONG_NS);
        for (of_burst, written) in [(4, 4), (16, 4), (16, 0), (1, 0), (4, 4)] {
            let found = burst(&mut pace, of_burst, &mut messages, &mut now_ns);
            assert_eq!(found, written, "of {of_burst}");
            now_ns += LONG_NS;
        }
    }

    #[test]
    fn who_sends_writes_what_the_writing_thread_does_not_come_for() {
        let mut pace = Pace::new(LONG_NS);
        pace.on_first_held(0);
        let mut looks = 0;
        for message in 1.. {
            let now_ns = LONG_NS + 1_000 * message;
            if pace.is_to_look(message) {
                looks += 1;
                if pace.is_overdue(message, LONG_NS, now_ns) {
                    let held_ns = now_ns - LONG_NS;
                    assert!((RESCUE_NS..2 * RESCUE_NS).contains(&held_ns), "{held_ns}");
                    break;
                }
            }
        }
        assert!(looks < 20, "{looks}");
    }

    #[test]
    fn in_a_stream_the_writing_thread_comes_by_itself_and_nobody_writes_single_messages() {
        let mut pace = Pace::new(LONG_NS);
        let (mut messages, mut now_ns) = (0, LONG_NS);
        stream(&mut pace, &mut messages, &mut now_ns);
        assert!(!single(&mut pace, &mut messages, &mut now_ns));
        assert_eq!(pace.next_turn_ns(now_ns), Some(now_ns + TURN_NS));
        let since_ns = now_ns;
        messages += FEW;
        assert!(!pace.on_turn(messages, Some(since_ns), since_ns + HOLD_NS - 1));
        messages += FEW;
        assert!(pace.on_turn(messages, Some(since_ns), since_ns + HOLD_NS));
        // They become rare: what is held leaves, and then the thread is to be told.
        assert!(pace.on_turn(messages + 1, Some(now_ns), now_ns));
        assert_eq!(pace.next_turn_ns(now_ns), None);
    }

    #[test]
    fn who_does_nothing_but_send_holds_for_a_quarter_of_that_time_and_no_longer_than_it_may() {
        let mut pace = Pace::new(LONG_NS);
        let (mut messages, mut now_ns) = (0, LONG_NS);
        stream(&mut pace, &mut messages, &mut now_ns);
        let begun_ns = now_ns;
        let mut longest_ns = 0;
        while now_ns < begun_ns + 8 * LONG_NS {
            let since_ns = now_ns;
            pace.on_first_held(messages);
            loop {
                messages += 1;
                now_ns += 100;
                if pace.is_to_look(messages) && pace.is_overdue(messages, since_ns, now_ns) {
                    break;
                }
            }
            let held_ns = now_ns - since_ns;
            let may_ns = HOLD_NS.max((since_ns - begun_ns) / BUSY_SHARE).min(LONG_NS);
            // A look comes every 64 messages, and the stream began a little earlier.
            assert!(held_ns < may_ns + 10_000, "{held_ns} {may_ns}");
            longest_ns = longest_ns.max(held_ns);
            pace.on_batch(messages, since_ns, now_ns);
            pace.on_written(now_ns);
        }
        assert!(longest_ns >= LONG_NS * 4 / 5);
        // Messages with time between them end that.
        pace.on_batch(messages + 4, now_ns, now_ns + HOLD_NS);
        pace.on_batch(messages + 8, now_ns + HOLD_NS, now_ns + 2 * HOLD_NS);
        pace.on_first_held(messages);
        assert!(pace.is_overdue(messages, now_ns, now_ns + HOLD_NS));
    }

    #[test]
    fn a_bound_below_all_that_is_kept_too() {
        let mut pace = Pace::new(7_000);
        for turn in 0..2 * u64::from(STREAM_TURNS) {
            pace.on_first_held(turn);
            assert!(!pace.is_overdue(turn, LONG_NS, LONG_NS + 6_999));
            assert!(pace.is_overdue(turn, LONG_NS, LONG_NS + 7_000));
            // The writing thread is always told.
            assert!(pace.on_turn(turn + 1, Some(LONG_NS), LONG_NS));
            assert_eq!(pace.next_turn_ns(LONG_NS), None);
        }
    }
}
