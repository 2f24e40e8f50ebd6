//! The bytes that are held, and their statistics. The rules that say when bytes leave are elsewhere.

use super::{Bytes, Reason, Stats, bytes::copy};
use std::mem::replace;

/// The bytes that are held, in order, and what happened so far.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// The held bytes begin at `written`: those before it were written, and are cut off later.
    bytes: Bytes,
    written: usize,
    /// When the first of the held bytes came.
    since_ns: u64,
    stats: Stats,
}

impl Buffer {
    #[inline]
    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pending().is_empty()
    }

    /// When the first of the held bytes came; `None`: nothing is held.
    #[inline]
    pub(super) fn since_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.since_ns)
    }

    /// How many messages were handed over.
    #[inline]
    pub(super) fn messages(&self) -> u64 {
        self.stats.messages
    }

    /// Count a message that is handed over, to be held or written.
    #[inline]
    pub(super) fn count_message(&mut self) {
        self.stats.messages += 1;
    }

    /// Hold these bytes after those that are held already.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.push(bytes);
    }

    /// Count a message and hold it, if it is not empty and ends at `until` or before; see
    /// [`Buffer::until`]. Returns whether it did.
    #[inline]
    pub(super) fn hold_within(&mut self, message: &[u8], until: usize) -> bool {
        let Some(place) = self.bytes.extend_within(message.len(), until) else {
            return false;
        };
        self.stats.messages += 1;
        copy(message, place);
        true
    }

    /// Where `bytes` more would end, as far as there is memory for them: it stays so while nothing else
    /// is done than [`Buffer::hold_within`].
    pub(super) fn until(&self, bytes: usize) -> usize {
        self.bytes.until(bytes)
    }

    /// Note that the first of the bytes held from now on came at this time.
    #[inline]
    pub(super) fn begin(&mut self, since_ns: u64) {
        self.since_ns = since_ns;
    }

    /// Count a hold whose bytes are written from `start_ns` on; they were due at `due_ns`.
    pub(super) fn record_hold(&mut self, start_ns: u64, due_ns: Option<u64>) {
        let held_ns = start_ns.saturating_sub(self.since_ns);
        let is_late = due_ns.is_some_and(|due_ns| start_ns > due_ns);
        self.stats.record_hold(held_ns, is_late);
    }

    /// Count a write that took `bytes`.
    pub(super) fn record_write(&mut self, bytes: usize, reason: Reason) {
        if bytes > 0 {
            self.stats.record_write(bytes, reason);
        }
    }

    /// Forget the first `bytes`, which were written; a batch has `max_bytes`.
    pub(super) fn cut(&mut self, bytes: usize, max_bytes: usize) {
        self.written += bytes;
        if self.written == self.bytes.len() {
            self.bytes.clear();
            self.written = 0;
            // The memory that was needed while a peer was stalled is given back.
            if self.bytes.capacity() > 4 * max_bytes {
                self.bytes.shrink_to(2 * max_bytes);
            }
        } else if self.written >= max_bytes.max(self.bytes.len() / 2) {
            self.bytes.cut(self.written);
            self.written = 0;
        }
    }

    /// Give away what is held; `spare` is an empty buffer for what comes next.
    pub(super) fn take(&mut self, spare: Bytes) -> Bytes {
        debug_assert!(spare.is_empty());
        let mut taken = replace(&mut self.bytes, spare);
        if self.written > 0 {
            taken.cut(self.written);
            self.written = 0;
        }
        taken
    }

    /// Forget what is held; returns how many bytes it was.
    pub(super) fn discard(&mut self) -> usize {
        let bytes = self.pending().len();
        self.bytes = Bytes::default();
        self.written = 0;
        bytes
    }

    pub(super) fn stats(&self) -> &Stats {
        &self.stats
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }
}
