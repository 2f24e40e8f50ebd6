//! Sends by io_uring(7): they are put into a queue, and one system call hands them to the kernel.

use super::{Calls, SendError, Sends, Waiting, most_of};
use io_uring::{
    IoUring, Probe, cqueue, opcode, squeue,
    types::{Fixed, SubmitArgs, Timespec},
};
use std::{collections::VecDeque, io, mem, os::fd::RawFd, sync::Arc};
use tinygram_net::clock::monotonic_ns;

/// The most entries that the kernel gives a queue (IORING_MAX_ENTRIES).
const MOST_ENTRIES: u32 = 32_768;

/// Whether this kernel permits io_uring, and sends and reads by it.
///
/// # Errors
/// The kernel's error; `Unsupported` if it lacks the sends or the reads.
pub fn check() -> io::Result<()> {
    let ring = IoUring::new(2)?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    let codes = [opcode::Send::CODE, opcode::Recv::CODE];
    if codes.into_iter().all(|code| probe.is_supported(code)) && ring.params().is_feature_ext_arg()
    {
        return Ok(());
    }
    Err(io::ErrorKind::Unsupported.into())
}

/// A ring for one thread, with room for so many entries, or as many as the kernel gives.
///
/// # Errors
/// When the kernel does not permit it.
pub fn of(entries: usize) -> io::Result<IoUring> {
    let entries = (entries.max(1) as u32)
        .next_power_of_two()
        .min(MOST_ENTRIES);
    IoUring::builder()
        .setup_single_issuer()
        .setup_coop_taskrun()
        .build(entries)
        // Kernels before 6.0 know neither of the two flags.
        .or_else(|_| IoUring::new(entries))
}

/// See [`Sends`]. The sockets must block: the kernel then waits for room by itself.
pub struct ByRing {
    ring: IoUring,
    connections: Vec<Connection>,
    all_waiting_bytes: usize,
    /// How many sends the kernel has.
    under_way: usize,
    /// Memory for the sends that are done, while they are noted.
    done: Vec<cqueue::Entry>,
    calls: Calls,
}

#[derive(Clone, Debug, Default)]
struct Connection {
    /// The kernel has a send of the first message, from `sent` on; the others wait for it.
    messages: VecDeque<Arc<[u8]>>,
    sent: usize,
    waiting_bytes: usize,
}

impl ByRing {
    /// # Errors
    /// When the kernel does not permit it.
    pub fn new(fds: &[RawFd]) -> io::Result<Self> {
        let ring = of(fds.len())?;
        // The kernel looks up each descriptor now, and not for every send.
        ring.submitter().register_files(fds)?;
        Ok(Self {
            ring,
            connections: vec![Connection::default(); fds.len()],
            all_waiting_bytes: 0,
            under_way: 0,
            done: Vec::new(),
            calls: Calls::default(),
        })
    }

    /// Queue the send of a connection's first message.
    fn queue(&mut self, connection: usize) -> io::Result<()> {
        let Connection { messages, sent, .. } = &self.connections[connection];
        let rest = &messages[0][*sent..];
        let entry = opcode::Send::new(Fixed(connection as u32), rest.as_ptr(), rest.len() as u32)
            .flags(libc::MSG_NOSIGNAL)
            .build()
            .user_data(connection as u64);
        while push(&mut self.ring, &entry).is_err() {
            self.submit()?;
        }
        self.under_way += 1;
        Ok(())
    }

    fn submit(&mut self) -> io::Result<()> {
        if !self.ring.submission().is_empty() {
            self.ring.submit()?;
            self.calls.writes += 1;
        }
        Ok(())
    }

    /// Take note of the sends that are done.
    fn reap(&mut self) -> Result<(), SendError> {
        let mut done = mem::take(&mut self.done);
        done.extend(self.ring.completion());
        for entry in done.drain(..) {
            self.under_way -= 1;
            let connection = entry.user_data() as usize;
            if entry.result() < 0 {
                let error = io::Error::from_raw_os_error(-entry.result());
                return Err(SendError::Lost { connection, error });
            }
            let one = &mut self.connections[connection];
            let sent = entry.result() as usize;
            one.sent += sent;
            one.waiting_bytes -= sent;
            self.all_waiting_bytes -= sent;
            if one.sent == one.messages[0].len() {
                one.messages.pop_front();
                one.sent = 0;
            }
            if !one.messages.is_empty() {
                self.queue(connection)?;
            }
        }
        self.done = done;
        Ok(self.submit()?)
    }
}

/// Queue the entry. Fails when the queue is full.
fn push(ring: &mut IoUring, entry: &squeue::Entry) -> Result<(), squeue::PushError> {
    // SAFETY: the message that the entry sends is in `Connection::messages` until the kernel has answered:
    // only `reap` takes it out, and `drop` leaks the messages that the kernel may still read.
    unsafe { ring.submission().push(entry) }
}

impl Sends for ByRing {
    fn connections(&self) -> usize {
        self.connections.len()
    }

    fn hand(&mut self, connection: usize, message: &Arc<[u8]>) -> Result<(), SendError> {
        let one = &mut self.connections[connection];
        one.messages.push_back(Arc::clone(message));
        one.waiting_bytes += message.len();
        self.all_waiting_bytes += message.len();
        if one.messages.len() == 1 {
            self.queue(connection)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SendError> {
        self.submit()?;
        self.reap()
    }

    fn wait(&mut self, until_ns: u64) -> Result<(), SendError> {
        let left_ns = until_ns.saturating_sub(monotonic_ns());
        let left = Timespec::new()
            .sec(left_ns / 1_000_000_000)
            .nsec((left_ns % 1_000_000_000) as u32);
        let until = SubmitArgs::new().timespec(&left);
        match self.ring.submitter().submit_with_args(1, &until) {
            Err(error) if !matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR)) => {
                return Err(error.into());
            }
            _ => {}
        }
        self.reap()
    }

    fn waiting_bytes(&self) -> usize {
        self.all_waiting_bytes
    }

    fn most_waiting(&self) -> Waiting {
        let of_each = self.connections.iter().map(|one| one.waiting_bytes);
        most_of(of_each, self.all_waiting_bytes)
    }

    fn calls(&self) -> Calls {
        self.calls
    }
}

impl Drop for ByRing {
    fn drop(&mut self) {
        if self.under_way > 0 {
            // The kernel may still read the messages of these sends.
            mem::forget(mem::take(&mut self.connections));
        }
    }
}

impl std::fmt::Debug for ByRing {
    fn fmt(&self, form: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        form.debug_struct("ByRing")
            .field("connections", &self.connections.len())
            .field("under_way", &self.under_way)
            .finish_non_exhaustive()
    }
}
