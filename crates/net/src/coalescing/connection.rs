//! One connection that many threads send on: what it holds, and whose turn it is to write.
//!
//! Law: one writer at a time. A sender writes itself, under the lock, only while nothing is held;
//! whatever is held belongs to the writing thread, until it has written all of it.

use super::{
    failure::{Failure, FlushError, SendError},
    ground::{Condvar, Mutex, MutexGuard, Writer, forks, send_now},
    state::{Duty, State, Taken, Turn},
};
use crate::{
    clock::{monotonic_ns, sleep_until_ns},
    socket,
};
use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::Arc,
    time::Duration,
};
use tinygram_core::{Coalescer, Next, Reason, Stats};

/// A sender that writes itself hands over no more than this in one write, in bytes: with Python's
/// lock held, other threads wait for it.
const INLINE_BYTES: usize = 64 << 10;
/// From a look at the peer's acknowledgements to the next, longer and longer.
const FIRST_LOOK_NS: u64 = 20_000;
const LONGEST_LOOK_NS: u64 = 5_000_000;

#[derive(Debug)]
pub(super) struct Connection {
    fd: Arc<OwnedFd>,
    generation: u64,
    /// Whether it is the parent's too: then only the parent ends it.
    is_inherited: bool,
    max_buffered_bytes: usize,
    /// What the peer will have acknowledged before the first of our bytes.
    acknowledged_before: Option<u64>,
    state: Mutex<State>,
    /// Something was written, or never will be.
    changed: Condvar,
}

impl Connection {
    pub(super) fn new(
        fd: Arc<OwnedFd>,
        is_inherited: bool,
        coalescer: Coalescer,
        max_buffered_bytes: usize,
    ) -> Self {
        let number = fd.as_raw_fd();
        let acknowledged_before = socket::tcp_info(number).ok().map(|info| {
            info.acknowledged_bytes + socket::send_queue_bytes(number).unwrap_or_default()
        });
        Self {
            fd,
            generation: forks(),
            is_inherited,
            max_buffered_bytes,
            acknowledged_before,
            state: Mutex::new(State::new(coalescer)),
            changed: Condvar::new(),
        }
    }

    pub(super) fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Whether the process has forked since: then other threads' locks are locked for ever.
    pub(super) fn is_of_parent(&self) -> bool {
        self.generation != forks()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while it is locked")
    }

    /// Hold the message if that is all there is to do: the short way of [`Connection::send`].
    pub(super) fn hold_with_others(&self, message: &[u8]) -> bool {
        let mut state = self.lock();
        let is_plain = state.is_expected(message.len())
            && state.held_bytes() + message.len() <= self.max_buffered_bytes
            && !state.is_closed;
        if is_plain {
            state.coalescer.hold(message, monotonic_ns);
        }
        is_plain
    }

    /// Take the message: it is written now, or held and will be. Never waits.
    pub(super) fn send(self: &Arc<Self>, message: &[u8]) -> Result<(), SendError> {
        let mut state = self.lock();
        state.check()?;
        let held_bytes = state.held_bytes();
        if held_bytes > 0 && held_bytes + message.len() > self.max_buffered_bytes {
            return Err(SendError::NoRoom { held_bytes });
        }
        if state.coalescer.must_hold() {
            state.coalescer.hold(message, monotonic_ns);
        } else if let Next::Write(reason) = state.coalescer.on_message(message, monotonic_ns) {
            self.write_inline(&mut state, message, reason)?;
        }
        self.tell_writer(state)
    }

    /// What the kernel does not take now is held.
    fn write_inline(
        &self,
        state: &mut State,
        message: &[u8],
        reason: Reason,
    ) -> Result<(), Failure> {
        let start_ns = monotonic_ns();
        let first = &message[..message.len().min(INLINE_BYTES)];
        match send_now(self.fd(), first, &[]) {
            Ok(written) => {
                let end_ns = monotonic_ns();
                state.written_bytes += written as u64;
                state
                    .coalescer
                    .on_written(written, message, reason, start_ns, end_ns);
                Ok(())
            }
            Err(error) => Err(self.fail(state, &error, message.len())),
        }
    }

    /// Have the writing thread look at what is held, unless it will.
    fn tell_writer(self: &Arc<Self>, mut state: MutexGuard<'_, State>) -> Result<(), SendError> {
        let must_hurry = match state.duty {
            Duty::None => state.held_bytes() > 0,
            Duty::Timed => state.coalescer.is_full() || state.is_flushing(),
            Duty::Soon => false,
        };
        if !must_hurry {
            return Ok(());
        }
        state.duty = Duty::Soon;
        let was_known = std::mem::replace(&mut state.is_known, true);
        drop(state);
        let told = Writer::get().and_then(|writer| {
            if !was_known {
                writer.know(self);
            }
            writer.serve(Arc::clone(self))
        });
        // Others rely on the thread by now: what is held, by whomever, would never leave.
        told.map_err(|error| self.give_up(&error).into())
    }

    /// Nobody can write what is held: who is concerned is told by the next call.
    pub(super) fn give_up(&self, error: &io::Error) -> Failure {
        let mut state = self.lock();
        state.is_untold = state.failure.is_none();
        self.fail(&mut state, error, 0)
    }

    /// The connection failed with `unsent_bytes` besides those that are held. The first failure
    /// stays.
    fn fail(&self, state: &mut State, error: &io::Error, unsent_bytes: usize) -> Failure {
        if let Some(failure) = &state.failure {
            return failure.clone();
        }
        let written_bytes = state.written_bytes;
        let acknowledged_bytes = self.acknowledged_bytes().min(written_bytes);
        // The kernel may take them right now.
        let under_way_bytes = state.taken.under_way_bytes();
        let failure = Failure {
            errno: error.raw_os_error().unwrap_or(libc::EIO),
            acknowledged_bytes,
            unknown_bytes: written_bytes - acknowledged_bytes + under_way_bytes as u64,
            unsent_bytes: (state.held_bytes() - under_way_bytes + unsent_bytes) as u64,
        };
        state.failure = Some(failure.clone());
        state.coalescer.discard();
        state.taken = Taken::default();
        state.duty = Duty::None;
        self.changed.notify_all();
        failure
    }

    /// Of our bytes; where the socket does not tell, none.
    fn acknowledged_bytes(&self) -> u64 {
        match (self.acknowledged_before, socket::tcp_info(self.fd())) {
            (Some(before), Ok(info)) => info.acknowledged_bytes.saturating_sub(before),
            _ => 0,
        }
    }

    /// The writing thread's turn: write what is due, once.
    pub(super) fn serve(&self) -> Turn {
        let mut state = self.lock();
        if state.taken.bytes == 0 {
            let now_ns = monotonic_ns();
            let Some(reason) = state.reason_to_write(now_ns) else {
                return state.rest();
            };
            state.take(reason, now_ns);
        }
        let buffer = std::mem::take(&mut state.taken.buffer);
        let at = state.taken.at;
        state.taken.is_under_way = true;
        drop(state);
        let written = send_now(self.fd(), &buffer[at..], &[]);
        let end_ns = monotonic_ns();
        let mut state = self.lock();
        state.taken.is_under_way = false;
        match written {
            Ok(bytes) => {
                state.put_back(buffer, bytes, end_ns);
                if state.waiting > 0 {
                    self.changed.notify_all();
                }
                if state.taken.bytes > 0 {
                    Turn::WhenWritable
                } else if state.held_bytes() > 0 {
                    Turn::Again
                } else {
                    state.rest()
                }
            }
            Err(error) => {
                drop(state);
                self.give_up(&error);
                Turn::Rest
            }
        }
    }

    /// Wait until there is room for a message of `bytes`, or there never will be; false when
    /// `until_ns` came first.
    pub(super) fn wait_room(&self, bytes: usize, until_ns: u64) -> bool {
        // Half empty, so that not every message waits anew.
        let enough =
            (self.max_buffered_bytes / 2).min(self.max_buffered_bytes.saturating_sub(bytes));
        self.wait(until_ns, |state| {
            state.held_bytes() <= enough || state.is_closed
        })
    }

    /// How many bytes were handed over and can still leave, or did.
    pub(super) fn handed_over_bytes(&self) -> u64 {
        self.lock().handed_over_bytes()
    }

    /// Have the first `target` bytes of all that was handed over leave, and wait for it.
    pub(super) fn flush(self: &Arc<Self>, target: u64, until_ns: u64) -> Result<(), FlushError> {
        let mut state = self.lock();
        let target = target.min(state.handed_over_bytes());
        state.flush_until = state.flush_until.max(target);
        // Without a writer nobody will write: the wait ends with the time.
        let _ = self.tell_writer(state);
        let is_done = self.wait(until_ns, |state| state.written_bytes >= target);
        let mut state = self.lock();
        match state.tell_failure() {
            Some(failure) => Err(failure.into()),
            None if is_done => Ok(()),
            None => Err(FlushError::TimedOut {
                unknown_bytes: socket::send_queue_bytes(self.fd()).unwrap_or_default(),
                unsent_bytes: target.saturating_sub(state.written_bytes),
            }),
        }
    }

    /// End our side of the stream, if it is ours alone.
    pub(super) fn end_stream(&self) {
        if !self.is_inherited {
            socket::end_stream(self.fd());
        }
    }

    /// End the connection both ways, if it is ours alone.
    pub(super) fn end_both_ways(&self) {
        if !self.is_inherited {
            socket::end_both_ways(self.fd());
        }
    }

    /// Wait until the peer's kernel has acknowledged all that ours took; where no one
    /// acknowledges (Unix sockets), ours having it is enough.
    pub(super) fn wait_acknowledged(&self, until_ns: u64) -> Result<(), FlushError> {
        let Some(before) = self.acknowledged_before else {
            return Ok(());
        };
        let written_bytes = self.lock().written_bytes;
        let mut look_ns = FIRST_LOOK_NS;
        while let Ok(info) = socket::tcp_info(self.fd()) {
            let acknowledged_bytes = info.acknowledged_bytes.saturating_sub(before);
            let unknown_bytes = written_bytes.saturating_sub(acknowledged_bytes);
            if unknown_bytes == 0 {
                break;
            }
            if info.is_closed {
                let errno = socket::take_error(self.fd()).unwrap_or(libc::ECONNRESET);
                let error = io::Error::from_raw_os_error(errno);
                return Err(self.fail(&mut self.lock(), &error, 0).into());
            }
            let now_ns = monotonic_ns();
            if now_ns >= until_ns {
                return Err(FlushError::TimedOut {
                    unknown_bytes,
                    unsent_bytes: 0,
                });
            }
            sleep_until_ns(until_ns.min(now_ns + look_ns));
            look_ns = (2 * look_ns).min(LONGEST_LOOK_NS);
        }
        Ok(())
    }

    /// Wait until `is_so` or the connection failed; false when `until_ns` came first.
    fn wait(&self, until_ns: u64, is_so: impl Fn(&State) -> bool) -> bool {
        let mut state = self.lock();
        while !is_so(&state) && state.failure.is_none() {
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                return false;
            }
            state.waiting += 1;
            let woken = self
                .changed
                .wait_timeout(state, Duration::from_nanos(left_ns));
            state = woken.expect("nobody panics while it is locked").0;
            state.waiting -= 1;
        }
        true
    }

    /// Take no more messages.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Forget what is held, which is a failure to whoever waits for it; how many bytes that was.
    pub(super) fn discard(self: &Arc<Self>) -> usize {
        let mut state = self.lock();
        let bytes = state.held_bytes();
        let is_expected = state.duty != Duty::None;
        if bytes > 0 {
            let by_this_side = io::Error::from_raw_os_error(libc::ECONNABORTED);
            self.fail(&mut state, &by_this_side, 0);
        }
        drop(state);
        if is_expected {
            // So that it forgets the connection, which it may never hear of again.
            let _ = Writer::get().and_then(|writer| writer.serve(Arc::clone(self)));
        }
        bytes
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Whether there is something to do, or to say, before the program ends.
    pub(super) fn has_loose_ends(&self) -> bool {
        let state = self.lock();
        state.held_bytes() > 0 || state.is_untold
    }

    /// As a fork leaves it to the child, when a thread of the parent had the lock.
    #[cfg(all(test, loom))]
    pub(super) fn lock_for_ever(&self, message: &[u8]) {
        let mut state = self.lock();
        state.coalescer.hold(message, monotonic_ns);
        std::mem::forget(state);
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.lock().held_bytes()
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        self.lock().failure.clone()
    }

    pub(super) fn stats(&self) -> Stats {
        self.lock().coalescer.stats().clone()
    }
}

impl Drop for Connection {
    /// Nobody has it any more who could be told.
    fn drop(&mut self) {
        let state = self
            .state
            .get_mut()
            .expect("nobody panics while it is locked");
        if !state.is_untold {
            return;
        }
        if let Some(writer) = Writer::current() {
            writer.keep_untold(state.failure.take());
        }
    }
}
