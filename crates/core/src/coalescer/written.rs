//! The results of a write: how much of the batch has left, and how long the write took.

use super::{
    Coalescer, Reason,
    policy::{Policy, Writer},
};

/// Up to this many bytes, a write costs the same whatever its size.
const SMALL_BYTES: usize = 2_048;

impl Coalescer {
    /// The socket took the first `written` bytes of what is pending followed by `message`, which is
    /// empty if no message was written with it; the rest is held. `reason` is that of the answer, or
    /// the caller's: [`Reason::Asked`], [`Reason::Writable`]. `start_ns`, `end_ns`: when the write
    /// began and ended.
    ///
    /// # Panics
    /// When `written` is more than there was to write.
    pub fn on_written(
        &mut self,
        written: usize,
        message: &[u8],
        reason: Reason,
        start_ns: u64,
        end_ns: u64,
    ) {
        self.hand_on(written, message, reason, start_ns, Some(end_ns));
    }

    /// Like [`Coalescer::on_written`], for bytes that another transport is about to write; call
    /// [`Coalescer::on_write_ended`] when it has.
    ///
    /// # Panics
    /// When `written` is more than there was to write.
    pub fn on_handed_on(&mut self, written: usize, message: &[u8], reason: Reason, start_ns: u64) {
        self.hand_on(written, message, reason, start_ns, None);
    }

    /// A sender's write of `bytes` has ended; `bytes` is 0 if the socket took only a part.
    pub fn on_write_ended(&mut self, bytes: usize, start_ns: u64, end_ns: u64) {
        self.policy.on_written(end_ns, Writer::Sender);
        if (1..=SMALL_BYTES).contains(&bytes) {
            self.policy.on_small_write(end_ns.saturating_sub(start_ns));
        }
    }

    /// `end_ns`: when the write ended, if it has.
    #[inline]
    fn hand_on(
        &mut self,
        written: usize,
        message: &[u8],
        reason: Reason,
        start_ns: u64,
        end_ns: Option<u64>,
    ) {
        self.close_room();
        let held_bytes = self.pending().len();
        debug_assert!(written <= held_bytes + message.len());
        let of_batch = held_bytes > 0 && written > 0;
        let (messages, due_ns) = (self.buffer.messages(), self.due_ns());
        if let Some(end_ns) = end_ns {
            let is_all = written == held_bytes + message.len();
            self.on_write_ended(if is_all { written } else { 0 }, start_ns, end_ns);
        }
        if of_batch {
            self.buffer.record_hold(start_ns, due_ns);
        }
        self.buffer.record_write(written, reason);
        self.buffer.cut(written.min(held_bytes), self.max_bytes);
        let rest = &message[written.saturating_sub(held_bytes)..];
        if !rest.is_empty() && self.buffer.is_empty() {
            self.buffer.begin(start_ns);
            self.policy.on_batch(messages.saturating_sub(1));
        }
        self.buffer.push(rest);
    }
}
