//! The short way for a message that only joins held ones: decided once, then one comparison for each.
//!
//! Law: room is open only while all that is to be done with a message is to copy it into memory that is there.
//! Whatever may change that closes the room, and a message that takes the long way opens it again.

use super::{Coalescer, Policy};

/// How much may be held the short way.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// Where in the buffer it ends: one comparison for memory and limits alike (decision 0051); 0: it is closed.
    until: usize,
    /// With many senders: the number of the message whose sender looks at the clock.
    look_at: u64,
}

impl Coalescer {
    /// Hold the message if others are held and nothing else is to be done: the short way of
    /// [`Coalescer::on_message`], which must be called if this returns false.
    #[inline]
    #[must_use]
    pub fn hold_with_others(&mut self, message: &[u8]) -> bool {
        self.buffer.hold_within(message, self.room.until)
    }

    /// The same with many senders: the short way of [`Coalescer::hold`].
    #[inline]
    #[must_use]
    pub fn hold_expected(&mut self, message: &[u8]) -> bool {
        self.buffer.messages() + 1 < self.room.look_at && self.hold_with_others(message)
    }

    /// With many senders: let up to `bytes` more be held the short way, if something is held and the
    /// policy need not know each message's time.
    pub fn open_room(&mut self, bytes: usize) {
        let is_open = !self.watches_time && !self.buffer.is_empty();
        self.room.until = if is_open { self.buffer.until(bytes) } else { 0 };
        self.room.look_at = self.policy.look_at();
    }

    /// Have the next message take the long way.
    #[inline]
    pub fn close_room(&mut self) {
        self.room.until = 0;
    }

    /// How many more bytes can be held before the batch is full.
    pub fn room_in_batch(&self) -> usize {
        (self.max_bytes - 1).saturating_sub(self.pending().len())
    }

    /// In a loop: open the room after a message was held the long way.
    pub(super) fn open_room_of_loop(&mut self) {
        let is_open = !(self.is_quiet || self.is_blocked || self.watches_time);
        let left_bytes = self.max_buffered_bytes.saturating_sub(self.pending().len());
        if is_open && !self.buffer.is_empty() {
            let bytes = self.room_in_batch().min(left_bytes);
            self.room.until = self.buffer.until(bytes);
        }
    }
}
