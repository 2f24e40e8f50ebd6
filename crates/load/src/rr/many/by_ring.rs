//! Sends and reads by io_uring(7): those of all callers that are ready are put into a queue, and one
//! system call hands them to the kernel and waits for what is done.

use super::{Callers, Calls, LONGEST_WAIT_MS};
use crate::{messages::CallContent, rr::error::CallError, sends::ring};
use io_uring::{
    IoUring, cqueue, opcode, squeue,
    types::{Fixed, SubmitArgs, Timespec},
};
use std::{fmt, io, mem, os::fd::RawFd};
use tinygram_net::clock::monotonic_ns;

/// The most bytes that a read takes.
const MOST_ROOM_BYTES: u64 = 16 << 10;

/// See [`Calls`]. The sockets must block: the kernel then waits by itself.
pub struct ByRing {
    ring: IoUring,
    /// Every request of the pool; the kernel reads from here.
    requests: Vec<Box<[u8]>>,
    /// The bytes that came, `room_bytes` for each caller; the kernel writes here.
    rooms: Vec<u8>,
    room_bytes: usize,
    /// Whether the kernel has a read of each caller's.
    is_reading: Vec<bool>,
    /// How many sends and reads the kernel has.
    under_way: usize,
    done: Vec<cqueue::Entry>,
    /// Calls of io_uring so far, and sends and reads that they handed over.
    calls: u64,
    handed: u64,
}

/// The two kinds of entries, in the lowest bit of an entry's user data.
const SEND: u64 = 0;
const READ: u64 = 1;

impl ByRing {
    /// # Errors
    /// When the kernel does not permit it.
    pub fn new(fds: &[RawFd], content: &CallContent) -> io::Result<Self> {
        // A send and a read of each at a time.
        let ring = ring::of(2 * fds.len())?;
        ring.submitter().register_files(fds)?;
        let room_bytes = content.reply_bytes().min(MOST_ROOM_BYTES) as usize;
        Ok(Self {
            ring,
            requests: (0..content.request_count())
                .map(|index| content.request(index).into())
                .collect(),
            rooms: vec![1; room_bytes * fds.len()],
            room_bytes,
            is_reading: vec![false; fds.len()],
            under_way: 0,
            done: Vec::new(),
            calls: 0,
            handed: 0,
        })
    }

    /// The calls of io_uring so far, and the sends and reads that they handed over.
    #[cfg(test)]
    pub fn calls_and_handed(&self) -> (u64, u64) {
        (self.calls, self.handed)
    }

    /// Queue what a caller has to send next, and with the last of it a read of the reply.
    pub(super) fn send(&mut self, callers: &Callers<'_>, caller: usize) -> io::Result<()> {
        let Some(range) = callers.to_send(caller) else {
            return Ok(());
        };
        let index = callers.request(caller) % self.requests.len() as u64;
        let rest = &self.requests[index as usize][range];
        let entry = opcode::Send::new(Fixed(caller as u32), rest.as_ptr(), rest.len() as u32)
            .flags(libc::MSG_NOSIGNAL)
            .build()
            .user_data((caller as u64) << 1 | SEND);
        self.queue(&entry)?;
        if callers.is_last_part(caller) {
            self.read(callers, caller)?;
        }
        Ok(())
    }

    /// Queue a read of what is missing of a caller's reply, unless the kernel has one.
    fn read(&mut self, callers: &Callers<'_>, caller: usize) -> io::Result<()> {
        let missing = callers.missing(caller).unwrap_or(0);
        if self.is_reading[caller] || missing == 0 {
            return Ok(());
        }
        let length = missing.min(self.room_bytes as u64) as u32;
        let room = &mut self.rooms[caller * self.room_bytes..][..self.room_bytes];
        let entry = opcode::Recv::new(Fixed(caller as u32), room.as_mut_ptr(), length)
            .build()
            .user_data((caller as u64) << 1 | READ);
        self.is_reading[caller] = true;
        self.queue(&entry)
    }

    fn queue(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the memory that the entry reads or writes is in `requests` or `rooms`, which neither move
        // nor shrink; `drop` leaks them if the kernel has not answered. A caller has one send and one read
        // at a time.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit()?;
            self.calls += 1;
        }
        self.under_way += 1;
        self.handed += 1;
        Ok(())
    }

    /// Hand over what is queued, wait until something is done or until `until_ns`, and take note of it.
    pub(super) fn wait(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        let longest_ns = LONGEST_WAIT_MS as u64 * 1_000_000;
        let left_ns = until_ns.map_or(longest_ns, |until_ns| {
            until_ns.saturating_sub(monotonic_ns()).min(longest_ns)
        });
        let left = Timespec::new().nsec(left_ns as u32);
        let until = SubmitArgs::new().timespec(&left);
        self.calls += 1;
        match self.ring.submitter().submit_with_args(1, &until) {
            Err(error) if !matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR)) => {
                return Err(error);
            }
            _ => {}
        }
        self.done.extend(self.ring.completion());
        Ok(())
    }

    /// A send or a read is done: note it, and queue what comes next.
    fn on_done(
        &mut self,
        callers: &mut Callers<'_>,
        entry: &cqueue::Entry,
    ) -> Result<(), CallError> {
        let caller = (entry.user_data() >> 1) as usize;
        let index = callers.request(caller);
        let outcome = match entry.result() {
            error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
            count => Ok(count as usize),
        };
        if entry.user_data() & 1 == SEND {
            let sent = outcome.map_err(|source| CallError::Send { index, source })?;
            callers.on_sent(caller, sent);
        } else {
            self.is_reading[caller] = false;
            let count = outcome.map_err(|source| CallError::Receive { index, source })?;
            let came = &self.rooms[caller * self.room_bytes..][..count];
            callers.on_received(caller, came, monotonic_ns())?;
        }
        let queued = if callers.end(caller) {
            if callers.begin(caller)? {
                self.send(callers, caller)
            } else {
                Ok(())
            }
        } else if entry.user_data() & 1 == SEND {
            self.send(callers, caller)
        } else {
            self.read(callers, caller)
        };
        queued.map_err(failed)
    }
}

fn failed(error: io::Error) -> CallError {
    CallError::Thread(error.to_string())
}

impl Calls for ByRing {
    fn begin(&mut self, callers: &mut Callers<'_>, caller: usize) -> Result<(), CallError> {
        self.send(callers, caller).map_err(failed)
    }

    fn advance(
        &mut self,
        callers: &mut Callers<'_>,
        until_ns: Option<u64>,
    ) -> Result<(), CallError> {
        self.wait(until_ns).map_err(failed)?;
        let mut done = mem::take(&mut self.done);
        for entry in done.drain(..) {
            self.under_way -= 1;
            self.on_done(callers, &entry)?;
        }
        self.done = done;
        Ok(())
    }
}

impl Drop for ByRing {
    fn drop(&mut self) {
        if self.under_way > 0 {
            // The kernel may still read and write this memory.
            mem::forget(mem::take(&mut self.requests));
            mem::forget(mem::take(&mut self.rooms));
        }
    }
}

impl fmt::Debug for ByRing {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        form.debug_struct("ByRing")
            .field("callers", &self.is_reading.len())
            .field("calls", &self.calls)
            .field("handed", &self.handed)
            .field("under_way", &self.under_way)
            .finish_non_exhaustive()
    }
}
