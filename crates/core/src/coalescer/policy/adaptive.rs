//! `adaptive` in a loop: at once when idle, at the end of the iteration when not, and beyond it while
//! more keeps coming.

use super::{Moment, Policy, Writer};
use crate::Reason;

/// After this time without a write a message leaves at once: about five times a write's cost.
const IDLE_NS: u64 = 20_000;
/// More comes soon if it came within this time after the last iterations: about a write's cost.
const SOON_NS: u64 = 5_000;
/// A single gap counts for no more than this, so that a pause is soon forgotten.
const LONGEST_GAP_NS: u64 = 1_000_000;
/// A sender that has been silent for this long was not busy.
const PAUSE_NS: u64 = 100_000;
/// A loop that has been busy for sixteen times as long may as well be busy a little longer.
const BUSY_SHARE: u64 = 16;
/// In an event loop that does not say when it rests, messages closer together than this come from a
/// program that does nothing else. Other messages are held no longer than this.
const DENSE_NS: u64 = 1_000;
const SPARSE_HOLD_NS: u64 = 15_000;

/// What the policy knows about the loop that ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Loop {
    /// The program's own loop.
    Plain,
    /// An event loop that says when it is about to wait.
    Resting,
    /// An event loop that does other things between ticks, and does not say when it waits.
    Foreign,
}

#[derive(Debug)]
pub(in super::super) struct Adaptive {
    of_loop: Loop,
    /// No message is held longer.
    hold_ns: u64,
    /// How many messages had come before the first of the batch, or the one written through.
    before_batch: u64,
    /// Whether the last batch had more than one message: then the next one is expected to.
    is_bursty: bool,
    last_write_ns: Option<u64>,
    last_tick_ns: u64,
    /// Whether no message came since the last tick.
    is_quiet: bool,
    /// Moving average of the time from the end of an iteration to the next message.
    gap_ns: u64,
    /// Since when the loop has had something to do, as far as we know.
    busy_since_ns: u64,
}

impl Policy for Adaptive {
    fn on_message(&mut self, at: Moment) -> Option<Reason> {
        self.note_gap(at.now_ns);
        if at.held_since_ns.is_some() || !self.is_idle(at.now_ns) {
            return None;
        }
        self.before_batch = at.messages;
        (!self.is_bursty).then_some(Reason::Idle)
    }

    fn on_tick(&mut self, at: Moment, will_block: bool) -> Option<Reason> {
        let had_messages = !std::mem::replace(&mut self.is_quiet, true);
        let previous_ns = std::mem::replace(&mut self.last_tick_ns, at.now_ns);
        if will_block {
            self.busy_since_ns = at.now_ns;
        }
        let held_since_ns = at.held_since_ns?;
        let iteration_ns = at.now_ns.saturating_sub(previous_ns.max(held_since_ns));
        let may_wait = had_messages && !will_block;
        let holds_on = may_wait && self.more_is_near(at, held_since_ns, iteration_ns);
        (!holds_on).then_some(Reason::Tick)
    }

    fn on_written(&mut self, end_ns: u64, messages: u64, by: Writer) {
        self.last_write_ns = Some(end_ns);
        if self.is_quiet {
            // The write itself is no gap.
            self.last_tick_ns = end_ns;
        }
        if by == (Writer::Sender { of_batch: true }) {
            self.is_bursty = messages - self.before_batch > 1;
            self.before_batch = messages;
        }
    }
}

impl Adaptive {
    pub(super) fn new(hold_ns: u64, of_loop: Loop) -> Self {
        Self {
            of_loop,
            hold_ns,
            before_batch: 0,
            is_bursty: false,
            last_write_ns: None,
            last_tick_ns: 0,
            is_quiet: true,
            gap_ns: LONGEST_GAP_NS,
            busy_since_ns: 0,
        }
    }

    fn is_idle(&self, now_ns: u64) -> bool {
        self.last_write_ns
            .is_none_or(|last_ns| now_ns.saturating_sub(last_ns) >= IDLE_NS)
    }

    /// The first message since a tick, or since one that was written at once: how long after it?
    fn note_gap(&mut self, now_ns: u64) {
        let last_ns = self.last_tick_ns.max(self.last_write_ns.unwrap_or(0));
        let is_pause = now_ns.saturating_sub(last_ns) > PAUSE_NS;
        if is_pause {
            self.busy_since_ns = now_ns;
        }
        if self.is_quiet || is_pause {
            self.is_quiet = false;
            let gap_ns = now_ns.saturating_sub(self.last_tick_ns);
            self.gap_ns = (3 * self.gap_ns + gap_ns.min(LONGEST_GAP_NS)) / 4;
        }
    }

    /// Whether what is held may wait for what the next iterations bring; `iteration_ns` was the
    /// last one, and so will be the next.
    fn more_is_near(&self, at: Moment, held_since_ns: u64, iteration_ns: u64) -> bool {
        let held_ns = at.now_ns.saturating_sub(held_since_ns);
        let (soon_ns, longest_ns) = match self.of_loop {
            Loop::Plain => (SOON_NS, self.hold_ns),
            Loop::Resting => {
                let busy_ns = at.now_ns.saturating_sub(self.busy_since_ns);
                (IDLE_NS, self.hold_ns.min(busy_ns / BUSY_SHARE))
            }
            Loop::Foreign => {
                let messages = at.messages - self.before_batch;
                let is_dense = held_ns / messages.max(1) < DENSE_NS;
                let longest_ns = if is_dense {
                    self.hold_ns
                } else {
                    self.hold_ns.min(SPARSE_HOLD_NS)
                };
                (SOON_NS, longest_ns)
            }
        };
        self.gap_ns <= soon_ns && held_ns + iteration_ns < longest_ns
    }
}
