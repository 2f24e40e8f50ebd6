//! A sender's side of a connection: its message is held, or written under the lock.

use super::{
    Connection,
    state::{Duty, State},
};
use crate::coalescing::{
    failure::{Failure, SendError},
    ground::{monotonic_ns, send_now},
    served::Served,
};
use std::sync::Arc;
use tinygram_core::{Next, Reason};

/// A sender that writes itself hands over no more than this in one write, in bytes: with Python's
/// lock held, other threads wait for it.
const INLINE_BYTES: usize = 256 << 10;

/// The same for a full batch, which the message that filled it makes a little larger than that.
const INLINE_BATCH_BYTES: usize = 2 * INLINE_BYTES;

/// How far messages have been taken.
enum After {
    /// A batch is full; there may be more.
    Batch,
    /// There are no more.
    All,
}

impl Connection {
    /// Hold the message if that is all there is to do: the short way of [`Connection::send`], which
    /// the last message that took the long way has left open.
    #[inline(always)]
    pub(in crate::coalescing) fn hold_with_others(&self, message: &[u8]) -> bool {
        self.watched.lock().coalescer.hold_expected(message)
    }

    /// Take the message: it is written now, or held and written later. Never waits.
    pub(in crate::coalescing) fn send(self: &Arc<Self>, message: &[u8]) -> Result<(), SendError> {
        self.send_many([message]).1
    }

    /// Take the messages, one after the other, until one is not taken; the writing thread is told once
    /// for each batch of them. Returns how many were taken, and why no more were.
    pub(in crate::coalescing) fn send_many<'a>(
        self: &Arc<Self>,
        messages: impl IntoIterator<Item = &'a [u8]>,
    ) -> (usize, Result<(), SendError>) {
        let mut messages = messages.into_iter();
        let mut taken = 0;
        loop {
            let mut state = self.lock();
            let is_expected = state.duty != Duty::None;
            let (more, sent) = self.take_batch(&mut state, &mut messages);
            taken += more;
            match self.tell_writer(state).and(sent) {
                Ok(After::Batch) => {}
                Ok(After::All) => return (taken, Ok(())),
                Err(error) => {
                    if is_expected && matches!(error, SendError::Failed(_)) {
                        self.tell_to_forget();
                    }
                    return (taken, Err(error));
                }
            }
        }
    }

    /// Take messages until one is not taken, or the writing thread must be told of a full batch.
    fn take_batch<'a>(
        &self,
        state: &mut State,
        messages: &mut impl Iterator<Item = &'a [u8]>,
    ) -> (usize, Result<After, SendError>) {
        let mut taken = 0;
        for message in messages {
            if state.coalescer.hold_expected(message) {
                taken += 1;
                continue;
            }
            if let Err(error) = self.admit(state, message.len()) {
                return (taken, Err(error));
            }
            taken += 1;
            if let Err(failure) = self.hold_or_write(state, message) {
                return (taken, Err(failure.into()));
            }
            if state.coalescer.is_full() && state.duty != Duty::Soon {
                return (taken, Ok(After::Batch));
            }
            state.open_room(self.max_buffered_bytes);
        }
        (taken, Ok(After::All))
    }

    /// Whether a message of `bytes` may be taken.
    fn admit(&self, state: &mut State, bytes: usize) -> Result<(), SendError> {
        state.check()?;
        let held_bytes = state.held_bytes();
        if held_bytes > 0 && held_bytes + bytes > self.max_buffered_bytes {
            // There is no room left: write without waiting for a hold to end.
            state.flush_until = state.handed_over_bytes();
            return Err(SendError::NoRoom { held_bytes });
        }
        Ok(())
    }

    fn hold_or_write(&self, state: &mut State, message: &[u8]) -> Result<(), Failure> {
        if state.coalescer.must_hold() {
            state.coalescer.hold(message, monotonic_ns);
            return if state.is_full_and_ours() {
                self.write_full(state)
            } else {
                self.write_overdue(state)
            };
        }
        let now_ns = monotonic_ns();
        match state.coalescer.on_message(message, || now_ns) {
            Next::Write(reason) => self.write_inline(state, message, reason, now_ns),
            _ => Ok(()),
        }
    }

    /// Write, in the writing thread's place, a batch that is full before the thread has come for it. The
    /// thread writes what the kernel does not take now.
    fn write_full(&self, state: &mut State) -> Result<(), Failure> {
        state.take(Reason::Full, monotonic_ns());
        let buffer = std::mem::take(&mut state.taken.buffer);
        match send_now(
            self.fd(),
            &buffer[..buffer.len().min(INLINE_BATCH_BYTES)],
            &[],
        ) {
            Ok(written) => {
                state.put_back(buffer, written, monotonic_ns());
                self.watched.tell_waiting(state);
                Ok(())
            }
            Err(error) => Err(self.fail(state, &error, 0)),
        }
    }

    /// Write what is held, if the writing thread has not come for it in time.
    fn write_overdue(&self, state: &mut State) -> Result<(), Failure> {
        if !state.coalescer.is_to_look() {
            return Ok(());
        }
        let now_ns = monotonic_ns();
        if !state.coalescer.is_overdue(now_ns) {
            return Ok(());
        }
        self.write_inline(state, &[], Reason::Deadline, now_ns)?;
        self.watched.tell_waiting(state);
        Ok(())
    }

    /// Write what is held and then the message; what the kernel does not take now is held. `start_ns` is
    /// the time now.
    fn write_inline(
        &self,
        state: &mut State,
        message: &[u8],
        reason: Reason,
        start_ns: u64,
    ) -> Result<(), Failure> {
        let held = state.coalescer.pending();
        let held = &held[..held.len().min(INLINE_BYTES)];
        let first = &message[..message.len().min(INLINE_BYTES - held.len())];
        match send_now(self.fd(), held, first) {
            Ok(written) => {
                state.written_bytes += written as u64;
                state
                    .coalescer
                    .on_written(written, message, reason, start_ns, monotonic_ns());
                Ok(())
            }
            Err(error) => Err(self.fail(state, &error, message.len())),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
