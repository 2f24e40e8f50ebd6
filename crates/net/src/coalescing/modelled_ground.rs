//! What connections stand on in the loom models: loom's locks, a kernel that takes a few bytes at a
//! time, a number of forks that a model sets, and a writing thread without epoll.

pub(super) use loom::sync::{Condvar, Mutex, MutexGuard, atomic::AtomicPtr};

use super::{connection::Connection, failure::Failure, handoff::Handoff, state::NextVisit};
use loom::sync::Notify;
use std::{
    io,
    mem::take,
    os::fd::RawFd,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// So few that every message is cut.
const MOST_PER_WRITE: usize = 3;

loom::lazy_static! {
    static ref KERNEL: Kernel = Kernel::default();
    static ref WRITER: Writer = Writer {
        handoff: Handoff::new(),
        wake: Notify::new(),
    };
}

/// No thread switches between two of its steps, so that its own lock is none of loom's.
#[derive(Default)]
struct Kernel {
    stream: std::sync::Mutex<Vec<u8>>,
    /// How many bytes it takes before the connection is reset; 0: it never is.
    resets_after: AtomicU64,
    forks: AtomicU64,
}

pub(super) fn send_now(_: RawFd, head: &[u8], tail: &[u8]) -> io::Result<usize> {
    let mut stream = KERNEL.stream.lock().unwrap();
    let resets_after = KERNEL.resets_after.load(Ordering::Relaxed) as usize;
    if resets_after > 0 && stream.len() >= resets_after {
        return Err(io::Error::from_raw_os_error(libc::ECONNRESET));
    }
    let bytes = [head, tail].concat();
    let taken = bytes.len().min(MOST_PER_WRITE);
    stream.extend_from_slice(&bytes[..taken]);
    Ok(taken)
}

pub(super) fn forks() -> u64 {
    KERNEL.forks.load(Ordering::Relaxed)
}

/// The process is a child from now on.
pub(super) fn fork() {
    KERNEL.forks.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn reset_after(bytes: u64) {
    KERNEL.resets_after.store(bytes, Ordering::Relaxed);
}

/// What the kernel took, in order.
pub(super) fn stream() -> Vec<u8> {
    KERNEL.stream.lock().unwrap().clone()
}

/// The writing thread: [`Writer::run`] is its loop, which the model's own thread calls.
pub(super) struct Writer {
    /// `None`: the model is at its end.
    handoff: Handoff<Option<Arc<Connection>>>,
    wake: Notify,
}

impl Writer {
    pub(super) fn get() -> io::Result<&'static Self> {
        Ok(&WRITER)
    }

    pub(super) fn current() -> Option<&'static Self> {
        Some(&WRITER)
    }

    pub(super) fn connections(&self) -> Vec<Arc<Connection>> {
        Vec::new()
    }

    pub(super) fn know(&self, _: &Arc<Connection>) {}

    pub(super) fn keep_untold(&self, _: Option<Failure>) {}

    pub(super) fn take_untold(&self) -> Vec<Failure> {
        Vec::new()
    }

    pub(super) fn notify(&self, connection: Arc<Connection>) -> io::Result<()> {
        self.add(Some(connection));
        Ok(())
    }

    pub(super) fn end(&self) {
        self.add(None);
    }

    fn add(&self, item: Option<Arc<Connection>>) {
        if self.handoff.add(item) {
            self.wake.notify();
        }
    }

    /// A kernel that takes no more now takes some the next time: nothing else is to be waited for.
    pub(super) fn run(&self) {
        let mut to_visit = Vec::new();
        loop {
            if !self.handoff.take_or_sleep(&mut to_visit) {
                self.wake.wait();
            }
            for item in take(&mut to_visit) {
                let Some(connection) = item else { return };
                match connection.write_due() {
                    NextVisit::Rest => {}
                    NextVisit::Again | NextVisit::WhenWritable => to_visit.push(Some(connection)),
                    NextVisit::At(at_ns) => {
                        panic!("a hold until {at_ns}: these strategies have none")
                    }
                }
            }
        }
    }
}
