//! One connection that many threads send on: what it holds, and which thread may write.
//!
//! Law: one writer at a time. A sender writes under the lock, and only while no batch is taken out. A
//! batch that the writing thread takes out is that thread's until all of it is written. A sender may
//! take out a full one: it makes the first write, under the lock, and the rest is the writing thread's.

mod acknowledged;
mod descriptor;
mod sending;
mod state;
mod watched;

use super::{
    failure::{Failure, FlushError, SendError},
    ground::{MutexGuard, monotonic_ns, send_now},
    served::{NextVisit, Served},
    writer::Writer,
};
use crate::socket;
use acknowledged::{Acknowledged, Unacknowledged};
use descriptor::Descriptor;
use state::{Duty, State, Taken};
use std::{
    io,
    os::fd::{OwnedFd, RawFd},
    sync::Arc,
};
use tinygram_core::{Coalescer, Stats};
use watched::Watched;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) descriptor: Descriptor,
    max_buffered_bytes: usize,
    acknowledged: Acknowledged,
    watched: Watched,
}

impl Connection {
    pub(super) fn new(
        fd: Arc<OwnedFd>,
        is_inherited: bool,
        coalescer: Coalescer,
        max_buffered_bytes: usize,
    ) -> Self {
        let descriptor = Descriptor::new(fd, is_inherited);
        Self {
            acknowledged: Acknowledged::from_now_on(descriptor.fd()),
            descriptor,
            max_buffered_bytes,
            watched: Watched::new(State::new(coalescer)),
        }
    }

    /// Lock the state. The caller may change what is to be done with messages, so the next message
    /// takes the long way.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.watched.lock();
        state.coalescer.close_room();
        state
    }

    /// Have the writing thread look at what is held, unless it will do so anyway.
    fn tell_writer(self: &Arc<Self>, mut state: MutexGuard<'_, State>) -> Result<(), SendError> {
        if !state.must_hurry() {
            return Ok(());
        }
        let writer = match Writer::get() {
            Ok(writer) => writer,
            Err(error) => return Err(self.fail(&mut state, &error, 0).into()),
        };
        state.duty = Duty::Soon;
        state.coalescer.on_told(monotonic_ns());
        // Before any sender holds a message and returns: `flush_all` finds only known connections.
        if !std::mem::replace(&mut state.is_known, true) {
            writer.know(Arc::downgrade(self) as _);
        }
        drop(state);
        let told = writer.notify(Arc::clone(self) as _);
        // Other senders rely on the thread by now: no held message, whoever sent it, would ever leave.
        told.map_err(|error| self.fail(&mut self.lock(), &error, 0).into())
    }

    /// Like [`Connection::fail`]; also has the writing thread forget the connection if it was to come.
    fn fail_and_be_forgotten(self: &Arc<Self>, error: &io::Error) -> Failure {
        let mut state = self.lock();
        let is_expected = state.duty != Duty::None;
        let failure = self.fail(&mut state, error, 0);
        drop(state);
        if is_expected {
            self.tell_to_forget();
        }
        failure
    }

    /// Have the writing thread forget the connection, which has failed and may never be sent on again.
    fn tell_to_forget(self: &Arc<Self>) {
        // If this fails, the thread forgets the connection when its hold would have ended.
        let _ = Writer::get().and_then(|writer| writer.notify(Arc::clone(self) as _));
    }

    /// Note that the connection failed, with `unsent_bytes` besides those that are held. If it failed
    /// before, that failure stays.
    fn fail(&self, state: &mut State, error: &io::Error, unsent_bytes: usize) -> Failure {
        if let Some(failure) = &state.failure {
            return failure.clone();
        }
        let written_bytes = state.written_bytes;
        let acknowledged_bytes = self.acknowledged.bytes(self.fd()).min(written_bytes);
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
        self.watched.tell_waiting(state);
        failure
    }

    /// Wait until there is room for a message of `bytes`, or there never will be; false when
    /// `until_ns` came first. While a thread waits for room, held messages leave without delay.
    pub(super) fn wait_room(self: &Arc<Self>, bytes: usize, until_ns: u64) -> bool {
        // Wait until the buffer is half empty, so that not every message waits anew.
        let enough =
            (self.max_buffered_bytes / 2).min(self.max_buffered_bytes.saturating_sub(bytes));
        let is_over = |state: &State| state.held_bytes() <= enough || state.is_closed;
        let mut state = self.lock();
        if is_over(&state) || state.failure.is_some() {
            return true;
        }
        state.waiting_for_room += 1;
        // A failure ends the wait, and the next message returns it.
        let _ = self.tell_writer(state);
        let has_room = self.watched.wait(until_ns, is_over);
        self.lock().waiting_for_room -= 1;
        has_room
    }

    /// How many bytes were handed over, without those that were discarded.
    pub(super) fn handed_over_bytes(&self) -> u64 {
        self.lock().handed_over_bytes()
    }

    /// Have the first `target` bytes of all that was handed over leave; returns how many there are.
    pub(super) fn hurry(self: &Arc<Self>, target: u64) -> u64 {
        let mut state = self.lock();
        let target = target.min(state.handed_over_bytes());
        state.flush_until = state.flush_until.max(target);
        // A failure is returned by the flush that waits.
        let _ = self.tell_writer(state);
        target
    }

    /// [`Connection::hurry`], and wait until these bytes have left.
    pub(super) fn flush(self: &Arc<Self>, target: u64, until_ns: u64) -> Result<(), FlushError> {
        let target = self.hurry(target);
        let is_done = self
            .watched
            .wait(until_ns, |state| state.written_bytes >= target);
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

    /// Wait until the peer's kernel has acknowledged all that ours took.
    pub(super) fn wait_acknowledged(self: &Arc<Self>, until_ns: u64) -> Result<(), FlushError> {
        let bytes = self.lock().written_bytes;
        let is_given_up = || self.lock().is_given_up;
        let waited = self
            .acknowledged
            .wait(self.fd(), bytes, until_ns, is_given_up);
        waited.map_err(|unacknowledged| match unacknowledged {
            Unacknowledged::TimedOut { unknown_bytes } => FlushError::TimedOut {
                unknown_bytes,
                unsent_bytes: 0,
            },
            Unacknowledged::Ended(errno) => {
                let error = io::Error::from_raw_os_error(errno);
                self.fail_and_be_forgotten(&error).into()
            }
        })
    }

    /// Take no more messages.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        self.watched.tell_waiting(&state);
    }

    /// Forget what is held: threads that wait for it get a failure. Returns how many bytes were held.
    ///
    /// It waits for a write that is under way, so that nothing leaves afterwards: those bytes could come
    /// behind messages of the socket's next sender.
    pub(super) fn discard(self: &Arc<Self>) -> usize {
        let is_at_rest = |state: &State| !state.taken.is_under_way;
        let (mut state, _) = self.watched.wait_locked(u64::MAX, is_at_rest);
        state.coalescer.close_room();
        let bytes = state.held_bytes();
        let is_expected = state.duty != Duty::None;
        state.is_given_up = true;
        if bytes > 0 {
            let by_this_side = io::Error::from_raw_os_error(libc::ECONNABORTED);
            self.fail(&mut state, &by_this_side, 0);
        }
        drop(state);
        if is_expected {
            self.tell_to_forget();
        }
        bytes
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Lock the state for good, as a fork does for the child when a thread of the parent has the lock.
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

impl Served for Connection {
    fn fd(&self) -> RawFd {
        self.descriptor.fd()
    }

    fn write_due(&self) -> NextVisit {
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
                self.watched.tell_waiting(&state);
                if state.taken.bytes > 0 {
                    NextVisit::WhenWritable
                } else {
                    state.after_write()
                }
            }
            Err(error) => {
                drop(state);
                self.give_up(&error);
                NextVisit::Rest
            }
        }
    }

    fn give_up(&self, error: &io::Error) {
        let mut state = self.lock();
        state.is_untold = state.failure.is_none();
        self.fail(&mut state, error, 0);
    }

    fn has_loose_ends(&self) -> bool {
        let state = self.lock();
        state.held_bytes() > 0 || state.is_untold
    }

    fn hurry_all(self: Arc<Self>) {
        self.hurry(u64::MAX);
    }

    fn flush_all(self: Arc<Self>, until_ns: u64) -> Result<(), FlushError> {
        self.flush(u64::MAX, until_ns)
    }
}

impl Drop for Connection {
    /// Keep a failure that no caller was told for the end of the program.
    fn drop(&mut self) {
        let state = self.watched.get_mut();
        if !state.is_untold {
            return;
        }
        if let Some(writer) = Writer::current() {
            writer.keep_untold(state.failure.take());
        }
    }
}
