//! A pass by io_uring(7): the sends to all subscribers are put into a queue, and one system call hands
//! them to the kernel.

use super::pass::{Calls, Pass, PublishError, Waiting};
use io_uring::{
    IoUring, Probe, cqueue, opcode, squeue,
    types::{Fixed, SubmitArgs, Timespec},
};
use std::{collections::VecDeque, io, mem, os::fd::RawFd, sync::Arc};
use tinygram_net::clock::monotonic_ns;

/// The most entries that the kernel gives a queue (IORING_MAX_ENTRIES).
const MOST_ENTRIES: u32 = 32_768;

/// Whether this kernel permits io_uring, and sends by it.
///
/// # Errors
/// What the kernel says; `Unsupported` where it knows no sends.
pub fn check() -> io::Result<()> {
    let ring = IoUring::new(2)?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    if probe.is_supported(opcode::Send::CODE) && ring.params().is_feature_ext_arg() {
        return Ok(());
    }
    Err(io::ErrorKind::Unsupported.into())
}

/// See [`Pass`]. The sockets must block: the kernel then waits for room by itself.
pub struct RingPass {
    ring: IoUring,
    subscribers: Vec<Subscriber>,
    all_waiting_bytes: usize,
    /// How many sends the kernel has.
    under_way: usize,
    calls: Calls,
}

#[derive(Clone, Debug, Default)]
struct Subscriber {
    /// The kernel has a send of the first one, from `sent` on; the others wait for it.
    messages: VecDeque<Arc<[u8]>>,
    sent: usize,
    waiting_bytes: usize,
}

impl RingPass {
    /// # Errors
    /// When the kernel does not permit it.
    pub fn new(fds: &[RawFd]) -> io::Result<Self> {
        let entries = (fds.len().max(1) as u32).next_power_of_two();
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_coop_taskrun()
            .build(entries.min(MOST_ENTRIES))
            // Kernels before 6.0 know neither of the two.
            .or_else(|_| IoUring::new(entries.min(MOST_ENTRIES)))?;
        // The kernel looks each up now, and not for every send.
        ring.submitter().register_files(fds)?;
        Ok(Self {
            ring,
            subscribers: vec![Subscriber::default(); fds.len()],
            all_waiting_bytes: 0,
            under_way: 0,
            calls: Calls::default(),
        })
    }

    /// Queue the send of a subscriber's first message.
    fn queue(&mut self, subscriber: usize) -> io::Result<()> {
        let Subscriber { messages, sent, .. } = &self.subscribers[subscriber];
        let rest = &messages[0][*sent..];
        let entry = opcode::Send::new(Fixed(subscriber as u32), rest.as_ptr(), rest.len() as u32)
            .flags(libc::MSG_NOSIGNAL)
            .build()
            .user_data(subscriber as u64);
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
    fn reap(&mut self) -> Result<(), PublishError> {
        let done: Vec<cqueue::Entry> = self.ring.completion().collect();
        for entry in done {
            self.under_way -= 1;
            let subscriber = entry.user_data() as usize;
            if entry.result() < 0 {
                let error = io::Error::from_raw_os_error(-entry.result());
                return Err(PublishError::Lost { subscriber, error });
            }
            let one = &mut self.subscribers[subscriber];
            let sent = entry.result() as usize;
            one.sent += sent;
            one.waiting_bytes -= sent;
            self.all_waiting_bytes -= sent;
            if one.sent == one.messages[0].len() {
                one.messages.pop_front();
                one.sent = 0;
            }
            if !one.messages.is_empty() {
                self.queue(subscriber)?;
            }
        }
        Ok(self.submit()?)
    }
}

/// Queue the entry. Fails when the queue is full.
fn push(ring: &mut IoUring, entry: &squeue::Entry) -> Result<(), squeue::PushError> {
    // SAFETY: the message that it sends is in `Subscriber::messages` until the kernel has answered:
    // only `reap` takes it out, and `drop` leaves those that it has not.
    unsafe { ring.submission().push(entry) }
}

impl Pass for RingPass {
    fn publish(&mut self, message: Vec<u8>) -> Result<(), PublishError> {
        let message: Arc<[u8]> = message.into();
        for subscriber in 0..self.subscribers.len() {
            let one = &mut self.subscribers[subscriber];
            one.messages.push_back(Arc::clone(&message));
            one.waiting_bytes += message.len();
            self.all_waiting_bytes += message.len();
            if one.messages.len() == 1 {
                self.queue(subscriber)?;
            }
        }
        self.submit()?;
        self.reap()
    }

    fn wait(&mut self, until_ns: u64) -> Result<(), PublishError> {
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

    fn waiting(&self) -> Option<Waiting> {
        if self.all_waiting_bytes == 0 {
            return None;
        }
        let of_each = self.subscribers.iter().map(|one| one.waiting_bytes);
        let (subscriber, bytes) = of_each.enumerate().max_by_key(|(_, bytes)| *bytes)?;
        Some(Waiting {
            subscriber,
            bytes,
            all_bytes: self.all_waiting_bytes,
        })
    }

    fn calls(&self) -> Calls {
        self.calls
    }
}

impl Drop for RingPass {
    fn drop(&mut self) {
        if self.under_way > 0 {
            // The kernel may still read what these sends point to.
            mem::forget(mem::take(&mut self.subscribers));
        }
    }
}

impl std::fmt::Debug for RingPass {
    fn fmt(&self, form: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        form.debug_struct("RingPass")
            .field("subscribers", &self.subscribers.len())
            .field("under_way", &self.under_way)
            .finish_non_exhaustive()
    }
}
