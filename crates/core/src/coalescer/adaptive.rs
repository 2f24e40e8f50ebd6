//! When `adaptive` holds messages beyond the end of an iteration: while more keeps coming.

use super::{Coalescer, IDLE_NS, KnobError, Knobs};

/// More comes soon if it came within this time after the last iterations: about a write's cost.
const SOON_NS: u64 = 5_000;
/// No single gap counts for more, so that a pause is soon forgotten.
pub(super) const LONGEST_GAP_NS: u64 = 1_000_000;
/// Who has not sent for so long was not busy.
const PAUSE_NS: u64 = 100_000;
/// A loop that has been busy for sixteen times as long may as well be busy a little longer.
const BUSY_SHARE: u64 = 16;
/// In an event loop that does not say when it rests, messages closer together than this come from a
/// program that does nothing else. Others are held for so long at most.
const DENSE_NS: u64 = 1_000;
const SPARSE_HOLD_NS: u64 = 15_000;

/// What a coalescer knows of the loop that ticks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loop {
    /// It is the program's own.
    Plain,
    /// It says when it is about to wait.
    Resting,
    /// It does other things between ticks, and does not say when it waits.
    Foreign,
}

impl Coalescer {
    /// A coalescer of an event loop that says when it is about to wait ([`Coalescer::on_tick`]).
    ///
    /// A message never waits while such a loop does. `Adaptive` then holds up to
    /// [`Knobs::ADAPTIVE_HOLD`], but no longer than a sixteenth of the time for which the loop has
    /// had something to do: one that never rests gains throughput, and its messages wait anyway.
    ///
    /// # Errors
    /// Which knob is outside its range.
    pub fn of_resting_loop(knobs: Knobs) -> Result<Self, KnobError> {
        let mut coalescer = Self::new(knobs)?;
        coalescer.of_loop = Loop::Resting;
        Ok(coalescer)
    }

    /// A coalescer of an event loop that does not say when it is about to wait.
    ///
    /// Whether a loop has nothing to do between two messages cannot be told there: `Adaptive` holds
    /// up to [`Knobs::ADAPTIVE_HOLD`] only while messages come so fast that the program can hardly
    /// do anything else, 15 µs otherwise.
    ///
    /// # Errors
    /// Which knob is outside its range.
    pub fn of_foreign_loop(knobs: Knobs) -> Result<Self, KnobError> {
        let mut coalescer = Self::new(knobs)?;
        coalescer.of_loop = Loop::Foreign;
        Ok(coalescer)
    }

    /// The first message since a tick, or since one that was written at once: how long after it?
    pub(super) fn note_gap(&mut self, now_ns: u64) {
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
    pub(super) fn more_is_near(&self, now_ns: u64, hold_ns: u64, iteration_ns: u64) -> bool {
        let held_ns = now_ns.saturating_sub(self.held_since_ns);
        let (soon_ns, longest_ns) = match self.of_loop {
            Loop::Plain => (SOON_NS, hold_ns),
            Loop::Resting => {
                let busy_ns = now_ns.saturating_sub(self.busy_since_ns);
                (IDLE_NS, hold_ns.min(busy_ns / BUSY_SHARE))
            }
            Loop::Foreign => {
                let messages = self.stats.messages - self.messages_before;
                let is_dense = held_ns / messages.max(1) < DENSE_NS;
                let longest_ns = if is_dense {
                    hold_ns
                } else {
                    hold_ns.min(SPARSE_HOLD_NS)
                };
                (SOON_NS, longest_ns)
            }
        };
        self.gap_ns <= soon_ns && held_ns + iteration_ns < longest_ns
    }
}
