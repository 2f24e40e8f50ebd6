//! `adaptive` where many threads share a connection: when the sender writes itself, and when messages
//! gather for the writing thread.
//!
//! A write costs a few microseconds; to wake the writing thread, and to change to it and back, costs
//! two or three times as much, and on a busy core the thread comes when the scheduler lets it. So a
//! few messages at a time are written by their sender. Larger bursts are left to the writing
//! thread, which then writes each as one. And where messages keep coming as soon as the last were
//! written, nobody wakes it: the next sender after they have waited long enough writes them, and
//! the thread looks now and then for the rest (it polls, as Linux's NAPI does with packets).

#[cfg(test)]
mod tests;

use super::{Moment, Policy, Writer};
use crate::Reason;

/// After this time without a write a burst has ended: about a write's cost; where the writing thread
/// wrote last, about that of changing back from it, too.
const GAP_NS: u64 = 5_000;
const GAP_AFTER_THREAD_NS: u64 = 10_000;
/// Bursts of up to this many messages are written message by message.
const FEW: u64 = 8;
/// Up to this many messages since its last visit, the writing thread does not come by itself.
const RARE: u64 = 4;
/// After this time without the writing thread, though it was told, the next sender writes.
const RESCUE_NS: u64 = 100_000;
/// The same where the thread polls.
const HOLD_NS: u64 = 20_000;
/// Start polling after EARLY_WAKES consecutive wake-ups within EARLY_NS of the last write.
const EARLY_NS: u64 = 20_000;
const EARLY_WAKES: u32 = 8;
/// Interval of that polling.
const POLL_NS: u64 = 50_000;
/// A sender whose messages are closer together does nothing else, and gains from larger writes.
const DENSE_NS: u64 = 3_000;
/// A sender that has been busy for four times as long may stay busy a little longer.
const BUSY_SHARE: u64 = 4;
/// How often during a hold its end is checked; a sender checks at every 64th message at least.
const LOOKS: u64 = 4;
const MOST_STEP: u64 = 64;

#[derive(Debug)]
pub(in super::super) struct SharedAdaptive {
    /// No message is held longer, as far as the scheduler lets somebody write it.
    most_ns: u64,
    hold_ns: u64,
    /// Mean gap between the messages of the last batch.
    step_ns: u64,
    /// Messages handed over before the burst, the batch, and the writing thread's last visit.
    before_burst: u64,
    before_batch: u64,
    before_visit: u64,
    was_large: bool,
    expects_many: bool,
    /// The number of the message whose sender looks at the clock.
    look_at: u64,
    last_write_ns: u64,
    /// A burst has ended after this time without a write.
    gap_ns: u64,
    early_wakes: u32,
    /// Since when messages have been close together, while the thread polls.
    dense_since_ns: u64,
}

impl Policy for SharedAdaptive {
    /// A message comes while nothing is held: whether its sender is to write it.
    fn on_message(&mut self, at: Moment) -> Option<Reason> {
        if at.now_ns.saturating_sub(self.last_write_ns) >= self.gap_ns {
            let was_large = at.messages - self.before_burst > FEW;
            // The thread may have cut a large one in two.
            self.expects_many = was_large || self.was_large;
            self.was_large = was_large;
            self.before_burst = at.messages;
        }
        let is_one_of_few = !self.expects_many && at.messages - self.before_burst < FEW;
        (!self.polls() && is_one_of_few).then_some(Reason::Idle)
    }

    fn on_batch(&mut self, messages: u64) {
        self.before_batch = messages;
        self.look_later(messages);
    }

    /// The writing thread comes.
    fn on_tick(&mut self, at: Moment, _: bool) -> Option<Reason> {
        let came = at.messages - self.before_visit;
        self.before_visit = at.messages;
        if self.polls() {
            if came < RARE {
                self.early_wakes = 0;
            }
        } else if let Some(since_ns) = at.held_since_ns {
            let is_early = since_ns < self.last_write_ns.saturating_add(EARLY_NS)
                && self.most_ns >= 2 * POLL_NS;
            self.early_wakes = if is_early { self.early_wakes + 1 } else { 0 };
            if self.polls() {
                self.hold_ns = HOLD_NS.min(self.most_ns);
            }
        }
        let is_due = !self.polls() || self.is_over(at);
        is_due.then_some(Reason::Tick)
    }

    #[inline]
    fn is_to_look(&self, messages: u64) -> bool {
        messages >= self.look_at
    }

    fn on_look(&mut self, at: Moment) -> bool {
        self.look_later(at.messages);
        self.is_over(at)
    }

    fn on_leaving(&mut self, at: Moment) {
        let Some(since_ns) = at.held_since_ns else {
            return;
        };
        let batch = at.messages.saturating_sub(self.before_batch).max(1);
        self.step_ns = at.now_ns.saturating_sub(since_ns) / batch;
        self.before_batch = at.messages;
        if !self.polls() {
            self.dense_since_ns = at.now_ns;
            self.hold_ns = RESCUE_NS.min(self.most_ns);
            return;
        }
        if self.step_ns >= DENSE_NS {
            self.dense_since_ns = at.now_ns;
        }
        let busy_ns = at.now_ns.saturating_sub(self.dense_since_ns);
        // The writing thread comes up to a LOOKS-th of the hold after the hold has ended.
        let most_ns = self.most_ns - self.most_ns / (LOOKS + 1);
        self.hold_ns = HOLD_NS.max(busy_ns / BUSY_SHARE).min(most_ns);
    }

    fn on_written(&mut self, end_ns: u64, _: u64, by: Writer) {
        self.last_write_ns = end_ns;
        self.gap_ns = match by {
            Writer::Thread => GAP_AFTER_THREAD_NS,
            Writer::Sender { .. } => GAP_NS,
        };
    }

    /// The time of the writing thread's next visit of its own accord.
    fn next_visit_ns(&self, now_ns: u64) -> Option<u64> {
        let poll_ns = POLL_NS
            .max(self.hold_ns / LOOKS)
            .min(self.most_ns.saturating_sub(self.hold_ns));
        self.polls().then(|| now_ns.saturating_add(poll_ns))
    }
}

impl SharedAdaptive {
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
    fn polls(&self) -> bool {
        self.early_wakes >= EARLY_WAKES
    }

    fn look_later(&mut self, messages: u64) {
        let step = self.hold_ns / LOOKS / self.step_ns.max(1);
        self.look_at = messages + step.clamp(1, MOST_STEP);
    }

    /// Whether what is held, if anything is, has been held for long enough.
    fn is_over(&self, at: Moment) -> bool {
        let held_ns = at
            .held_since_ns
            .map(|since_ns| at.now_ns.saturating_sub(since_ns));
        held_ns.is_some_and(|held_ns| held_ns >= self.hold_ns)
    }
}
