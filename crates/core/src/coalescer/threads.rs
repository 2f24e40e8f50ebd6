//! The side of a coalescer for callers that write on another thread.

use super::{AnyPolicy, Bytes, Coalescer, KnobError, Knobs, Policy, Reason, Writer};

/// Methods for a caller whose writing thread takes what is held, and tells later what was written.
/// Each visit of that thread is a tick: [`Coalescer::on_tick`].
impl Coalescer {
    /// A coalescer for threads: `Adaptive` holds up to [`Knobs::THREADS_HOLD`].
    ///
    /// # Errors
    /// Which knob is outside its range.
    pub fn of_threads(knobs: Knobs) -> Result<Self, KnobError> {
        let hold_ns = knobs.hold_ns(Knobs::THREADS_HOLD);
        Self::with(knobs, hold_ns, |knobs| {
            AnyPolicy::of_threads(knobs, hold_ns)
        })
    }

    /// Whether a message can only be held, because others are held, or are being written elsewhere.
    #[inline]
    pub fn must_hold(&self) -> bool {
        self.is_blocked || !self.buffer.is_empty()
    }

    /// Hold the message, whatever the strategy; the clock is read for the first of a batch, and for
    /// each message whose time the strategy needs ([`Coalescer::watches_time`]).
    #[inline]
    pub fn hold(&mut self, message: &[u8], clock: impl FnOnce() -> u64) {
        self.close_room();
        if self.watches_time {
            self.note_time(clock());
        } else if self.buffer.is_empty() {
            self.buffer.begin(clock());
            self.policy.on_batch(self.buffer.messages());
        }
        self.is_quiet = false;
        self.buffer.count_message();
        self.buffer.push(message);
    }

    /// Tell the policy of a message whose time it must know. The message is held whatever the policy
    /// answers: what is due leaves when the writing thread comes, or a sender looks.
    #[cold]
    fn note_time(&mut self, now_ns: u64) {
        let is_first = self.buffer.is_empty();
        let _ = self.policy.on_message(self.moment(now_ns));
        if is_first {
            self.buffer.begin(now_ns);
            self.policy.on_batch(self.buffer.messages());
        }
    }

    /// Whether what is held fills a batch.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.pending().len() >= self.max_bytes
    }

    /// Whether what is held and `more_bytes` would fill a batch.
    #[inline]
    pub fn would_fill(&self, more_bytes: usize) -> bool {
        self.pending().len() + more_bytes >= self.max_bytes
    }

    /// Whether the sender of the last message, which could only be held, must ask [`Coalescer::is_overdue`].
    #[inline]
    pub fn is_to_look(&self) -> bool {
        self.buffer.messages() >= self.policy.look_at()
    }

    /// Whether the sender of the next message would have to ask [`Coalescer::is_overdue`].
    pub fn would_look(&self) -> bool {
        self.buffer.messages() + 1 >= self.policy.look_at()
    }

    /// A sender looks: whether what is held has waited so long for the writing thread that it must write it
    /// now, because of [`Reason::Deadline`].
    pub fn is_overdue(&mut self, now_ns: u64) -> bool {
        self.policy.on_look(self.moment(now_ns)) && !self.is_blocked
    }

    /// The writing thread is about to be told to come: the time until it does is the cost of a wake-up.
    pub fn on_told(&mut self, now_ns: u64) {
        self.policy.on_told(now_ns);
    }

    /// Whether a writing thread that comes at `visit_ns` must be told to come sooner: what is held is
    /// due earlier than it was at the thread's last visit, and waiting for the thread would cost too much.
    pub fn is_too_late(&self, visit_ns: u64) -> bool {
        !self.buffer.is_empty() && !self.is_blocked && self.policy.is_too_late(visit_ns)
    }

    /// Give away what is held, to be written elsewhere from `start_ns` on; `spare` is an empty
    /// buffer for what comes meanwhile, which is held until [`Coalescer::on_taken_written`].
    pub fn take(&mut self, spare: Bytes, start_ns: u64) -> Bytes {
        self.close_room();
        let due_ns = self.due_ns();
        self.buffer.record_hold(start_ns, due_ns);
        self.is_blocked = true;
        self.buffer.take(spare)
    }

    /// A write of what [`Coalescer::take`] gave away took `written` bytes; `is_done`: nothing of it is
    /// left, so that what is held by now may leave.
    pub fn on_taken_written(&mut self, written: usize, reason: Reason, end_ns: u64, is_done: bool) {
        self.close_room();
        self.policy.on_written(end_ns, Writer::Thread);
        self.buffer.record_write(written, reason);
        self.is_blocked = !is_done;
    }
}
