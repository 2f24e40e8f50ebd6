//! For a caller that writes elsewhere, on another thread: it takes what is held, and tells later.

use super::{Coalescer, KnobError, Knobs, Reason};

/// For a caller that writes elsewhere, on another thread: it takes what is held, and tells later.
impl Coalescer {
    /// A coalescer of threads: the caller says when `Adaptive` holds, up to [`Knobs::THREADS_HOLD`].
    ///
    /// # Errors
    /// Which knob is outside its range.
    pub fn of_threads(knobs: Knobs) -> Result<Self, KnobError> {
        let mut coalescer = Self::new(knobs)?;
        coalescer.hold_ns = knobs.hold_ns(Knobs::THREADS_HOLD);
        Ok(coalescer)
    }

    /// Count a message that the caller writes at once, whatever the strategy, while nothing is held;
    /// [`Coalescer::on_written`] is to follow.
    pub fn pass(&mut self) {
        self.stats.messages += 1;
    }

    /// When the first of what is held came.
    pub fn held_since_ns(&self) -> Option<u64> {
        (!self.pending().is_empty()).then_some(self.held_since_ns)
    }

    /// Whether a message can only be held: others are, or are being written elsewhere.
    #[inline]
    pub fn must_hold(&self) -> bool {
        self.is_blocked || !self.pending().is_empty()
    }

    /// Hold the message, whatever the strategy; the clock is read for the first of a batch only.
    #[inline]
    pub fn hold(&mut self, message: &[u8], clock: impl FnOnce() -> u64) {
        if self.pending().is_empty() {
            self.held_since_ns = clock();
        }
        self.stats.messages += 1;
        self.is_quiet = false;
        self.buffer.extend_from_slice(message);
    }

    /// Whether what is held fills a batch.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.pending().len() >= self.max_bytes
    }

    /// Whether it would with so many bytes more.
    #[inline]
    pub fn would_fill(&self, more_bytes: usize) -> bool {
        self.pending().len() + more_bytes >= self.max_bytes
    }

    /// Give away what is held, to be written elsewhere from `start_ns` on; `spare` is an empty
    /// buffer for what comes meanwhile, which is held until [`Coalescer::on_taken_written`].
    pub fn take(&mut self, spare: Vec<u8>, start_ns: u64) -> Vec<u8> {
        debug_assert!(spare.is_empty());
        let held_ns = start_ns.saturating_sub(self.held_since_ns);
        self.stats.record_hold(held_ns, self.hold_ns);
        self.is_blocked = true;
        let mut taken = std::mem::replace(&mut self.buffer, spare);
        if self.written > 0 {
            taken.drain(..self.written);
            self.written = 0;
        }
        taken
    }

    /// A write of what was taken took `written` bytes; `is_done`: nothing of it is left, so that
    /// what is held by now may leave.
    pub fn on_taken_written(&mut self, written: usize, reason: Reason, end_ns: u64, is_done: bool) {
        self.last_write_ns = Some(end_ns);
        if written > 0 {
            self.stats.record_write(written, reason);
        }
        self.is_blocked = !is_done;
    }
}
