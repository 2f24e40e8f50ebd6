//! `adaptive` where many threads share a connection: when the sender writes itself, and when messages
//! gather for the writing thread.
//!
//! What leaves together is decided by the writing thread's visits, as iterations decide it in a loop. A few
//! messages at a time are written by their senders, one by one. Where a burst, or what a visit takes, has
//! more than so many, the next are held for the thread from the first on. How many are few follows
//! from two prices, which are measured while the connection is used: what a small write takes, and
//! how long the thread takes to come when it is told.

#[cfg(test)]
mod tests;

use super::price::Price;
use super::{Moment, Policy, Writer};
use crate::Reason;

/// Until they are measured: what a small write takes, and how long the thread takes to come.
const WRITE_NS: u64 = 5_000;
const WAKE_NS: u64 = 10_000;
/// The thread's coming costs its price in time, and about as much again in CPU time of both sides.
const WAKE_SIDES: u64 = 2;
/// No more messages than these are few, however dear a wake-up is.
const MOST_FEW: u64 = 8;
/// After so many times the price of a wake-up without the thread, though it was told, the next sender
/// writes: something else has the thread's core.
const RESCUE_WAKES: u64 = 10;
/// How often during that time a sender looks at the clock, at every 64th message at least.
const LOOKS: u64 = 4;
const MOST_STEP: u64 = 64;

#[derive(Debug)]
pub(in super::super) struct SharedAdaptive {
    /// No message is held longer, as far as the scheduler lets somebody write it.
    most_ns: u64,
    write: Price,
    wake: Price,
    /// When the thread was told to come for what is held; `None`: it has come.
    told_ns: Option<u64>,
    /// Mean gap between the messages of the last batch; before the first so long that each sender looks.
    step_ns: u64,
    /// Messages handed over before the burst, and before the batch.
    before_burst: u64,
    before_batch: u64,
    /// Whether the last burst, or the thread's last visit, had more than a few.
    expects_many: bool,
    /// The number of the message whose sender looks at the clock.
    look_at: u64,
    /// After the price of a write without one a burst has ended: its sender has done something else.
    last_write_ns: u64,
    /// Whether the thread has written since the burst began: its visit ends it.
    has_visited: bool,
}

impl Policy for SharedAdaptive {
    /// A message comes while nothing is held: whether its sender is to write it.
    fn on_message(&mut self, at: Moment) -> Option<Reason> {
        let few = self.few();
        let idle_ns = at.now_ns.saturating_sub(self.last_write_ns);
        if self.has_visited || idle_ns >= self.write.ns() {
            self.expects_many = at.messages - self.before_burst > few;
            self.before_burst = at.messages;
            self.has_visited = false;
        }
        let is_one_of_few = !self.expects_many && at.messages - self.before_burst < few;
        is_one_of_few.then_some(Reason::Idle)
    }

    fn on_batch(&mut self, messages: u64) {
        self.before_batch = messages;
        self.look_later(messages);
    }

    /// The writing thread comes.
    fn on_tick(&mut self, at: Moment, _: bool) -> Option<Reason> {
        if let Some(told_ns) = self.told_ns.take() {
            self.wake.note(at.now_ns.saturating_sub(told_ns));
        }
        Some(Reason::Tick)
    }

    fn look_at(&self) -> u64 {
        self.look_at
    }

    fn on_look(&mut self, at: Moment) -> bool {
        self.look_later(at.messages);
        let held_ns = at
            .held_since_ns
            .map(|since_ns| at.now_ns.saturating_sub(since_ns));
        held_ns.is_some_and(|held_ns| held_ns >= self.rescue_ns())
    }

    fn on_leaving(&mut self, at: Moment) {
        if let Some(since_ns) = at.held_since_ns {
            let batch = at.messages.saturating_sub(self.before_batch).max(1);
            self.step_ns = at.now_ns.saturating_sub(since_ns) / batch;
        }
    }

    fn on_written(&mut self, end_ns: u64, _: u64, by: Writer) {
        self.last_write_ns = end_ns;
        if by == Writer::Thread {
            self.has_visited = true;
            // Where it was told to write the rest of what was taken, its coming was no visit; and
            // where a sender has written a full batch in its place, there may be nothing to come for.
            self.told_ns = None;
        }
    }

    fn on_small_write(&mut self, took_ns: u64) {
        self.write.note(took_ns);
    }

    fn on_told(&mut self, now_ns: u64) {
        self.told_ns = Some(now_ns);
    }
}

impl SharedAdaptive {
    pub(super) fn new(most_ns: u64) -> Self {
        Self {
            most_ns,
            write: Price::new(WRITE_NS),
            wake: Price::new(WAKE_NS),
            told_ns: None,
            step_ns: most_ns,
            before_burst: 0,
            before_batch: 0,
            expects_many: false,
            look_at: 0,
            last_write_ns: 0,
            has_visited: false,
        }
    }

    /// Up to so many messages at a time are written by their senders: these writes cost no more than one and
    /// the thread's coming. A visit takes more than these where
    /// messages come faster than they can be written one by one.
    fn few(&self) -> u64 {
        (1 + WAKE_SIDES * self.wake.ns() / self.write.ns()).min(MOST_FEW)
    }

    fn rescue_ns(&self) -> u64 {
        (RESCUE_WAKES * self.wake.ns()).min(self.most_ns)
    }

    fn look_later(&mut self, messages: u64) {
        let step = self.rescue_ns() / LOOKS / self.step_ns.max(1);
        self.look_at = messages + step.clamp(1, MOST_STEP);
    }
}
