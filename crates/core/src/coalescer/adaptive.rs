//! When `adaptive` holds messages beyond the end of an iteration: while more keeps coming.

use super::{Coalescer, IDLE_NS, KnobError, Knobs};

/// More comes soon if it came within this time after the last iterations: about a write's cost.
const SOON_NS: u64 = 5_000;
/// No single gap counts for more, so that a pause is soon forgotten.
pub(super) const LONGEST_GAP_NS: u64 = 1_000_000;
/// Who has not sent for so long was not busy.
const PAUSE_NS: u64 = 100_000;
/// A loop that has been busy for four times as long may as well be busy a little longer.
const BUSY_SHARE: u64 = 4;

impl Coalescer {
    /// A coalescer of an event loop that says when it is about to wait ([`Coalescer::on_tick`]).
    ///
    /// A message never waits while such a loop does. `Adaptive` then holds up to
    /// [`Knobs::BUSY_HOLD`], but no longer than a quarter of the time for which the loop has had
    /// something to do: one that never rests gains throughput, and its messages wait anyway.
    ///
    /// # Errors
    /// Which knob is outside its range.
    pub fn of_resting_loop(knobs: Knobs) -> Result<Self, KnobError> {
        let mut coalescer = Self::new(knobs)?;
        coalescer.is_told_of_rests = true;
        coalescer.hold_ns = knobs.hold_ns(Knobs::BUSY_HOLD);
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
        let (soon_ns, longest_ns) = if self.is_told_of_rests {
            let busy_ns = now_ns.saturating_sub(self.busy_since_ns);
            (IDLE_NS, hold_ns.min(busy_ns / BUSY_SHARE))
        } else {
            (SOON_NS, hold_ns)
        };
        let held_ns = now_ns.saturating_sub(self.held_since_ns);
        self.gap_ns <= soon_ns && held_ns + iteration_ns < longest_ns
    }
}
