//! The short way of a message that only joins others: decided once, and then a comparison for each.
//!
//! Law: room is open only where nothing is to do but to hold what comes. Whatever may change that closes it,
//! and a message that takes the long way opens it again.

use super::{Coalescer, Policy};

/// What may be held the short way.
#[derive(Debug, Default)]
pub(super) struct Room {
    bytes: usize,
    /// With many senders: the message, by its number, whose sender looks at the clock.
    look_at: u64,
}

impl Coalescer {
    /// Hold the message if others are held and nothing else is to do: the short way of
    /// [`Coalescer::on_message`], which must be called when it was not held.
    #[inline]
    #[must_use]
    pub fn hold_with_others(&mut self, message: &[u8]) -> bool {
        // For an empty one there is never room.
        let has_room = message.len().wrapping_sub(1) < self.room.bytes;
        if has_room {
            self.room.bytes -= message.len();
            self.buffer.count_message();
            self.buffer.push(message);
        }
        has_room
    }

    /// The same with many senders: the short way of [`Coalescer::hold`].
    #[inline]
    #[must_use]
    pub fn hold_expected(&mut self, message: &[u8]) -> bool {
        self.buffer.messages() + 1 < self.room.look_at && self.hold_with_others(message)
    }

    /// With many senders: hold up to `bytes` more the short way, as far as the policy need not know each
    /// message's time, and something is held.
    pub fn open_room(&mut self, bytes: usize) {
        let is_open = !self.watches_time && !self.buffer.is_empty();
        self.room.bytes = if is_open { bytes } else { 0 };
        self.room.look_at = self.policy.look_at();
    }

    /// The next message takes the long way.
    #[inline]
    pub fn close_room(&mut self) {
        self.room.bytes = 0;
    }

    /// How many bytes more do not fill a batch.
    pub fn room_in_batch(&self) -> usize {
        (self.max_bytes - 1).saturating_sub(self.pending().len())
    }

    /// A message of a loop was held, and may have been the first of a batch or of an iteration.
    pub(super) fn open_room_of_loop(&mut self) {
        let is_open = !(self.is_quiet || self.is_blocked || self.watches_time);
        let left_bytes = self.max_buffered_bytes.saturating_sub(self.pending().len());
        if is_open && !self.buffer.is_empty() {
            self.room.bytes = self.room_in_batch().min(left_bytes);
        }
    }
}
