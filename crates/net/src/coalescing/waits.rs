//! What threads wait for: room, the kernel, the peer's acknowledgement.

use super::{connection::Connection, failure::FlushError, state::State};
use crate::{
    clock::{monotonic_ns, sleep_until_ns},
    socket,
};
use std::{io, os::fd::RawFd, sync::Arc, time::Duration};

/// From a look at the peer's acknowledgements to the next, longer and longer.
const FIRST_LOOK_NS: u64 = 20_000;
const LONGEST_LOOK_NS: u64 = 5_000_000;

/// What the peer will have acknowledged before the first of our bytes; `None` where nobody
/// acknowledges.
pub(super) fn acknowledged_before(fd: RawFd) -> Option<u64> {
    // An acknowledgement between the two readings would be missing in their sum.
    let mut queued_bytes = socket::send_queue_bytes(fd).ok()?;
    loop {
        let acknowledged_bytes = socket::tcp_info(fd).ok()?.acknowledged_bytes;
        let queued_after = socket::send_queue_bytes(fd).ok()?;
        if queued_after == queued_bytes {
            return Some(acknowledged_bytes + queued_bytes);
        }
        queued_bytes = queued_after;
    }
}

impl Connection {
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

    /// Have the first `target` bytes of all that was handed over leave; how many there are.
    pub(super) fn hurry(self: &Arc<Self>, target: u64) -> u64 {
        let mut state = self.lock();
        let target = target.min(state.handed_over_bytes());
        state.flush_until = state.flush_until.max(target);
        // Without a writer nobody will write: the wait ends with the time.
        let _ = self.tell_writer(state);
        target
    }

    /// [`Connection::hurry`], and wait for it.
    pub(super) fn flush(self: &Arc<Self>, target: u64, until_ns: u64) -> Result<(), FlushError> {
        let target = self.hurry(target);
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
            let mut state = self.lock();
            if state.is_given_up || info.is_closed {
                let errno = if state.is_given_up {
                    libc::ECONNABORTED
                } else {
                    socket::take_error(self.fd()).unwrap_or(libc::ECONNRESET)
                };
                let error = io::Error::from_raw_os_error(errno);
                return Err(self.fail(&mut state, &error, 0).into());
            }
            drop(state);
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

    /// Of our bytes; where the socket does not tell, none.
    pub(super) fn acknowledged_bytes(&self) -> u64 {
        match (self.acknowledged_before, socket::tcp_info(self.fd())) {
            (Some(before), Ok(info)) => info.acknowledged_bytes.saturating_sub(before),
            _ => 0,
        }
    }
}
