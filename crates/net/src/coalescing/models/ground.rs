//! The ground of connections in the loom models: loom's locks, a kernel that takes a few bytes at a
//! time, a clock that moves on when it is read, and a number of forks that a model sets.

pub(super) use loom::sync::{Condvar, Mutex, MutexGuard, atomic::AtomicPtr};

use std::{
    io,
    os::fd::RawFd,
    sync::atomic::{AtomicU64, Ordering},
};

/// The most bytes that one write takes: small enough that every message is cut.
const MOST_PER_WRITE: usize = 3;

/// How far each reading moves the clock, in nanoseconds: decisions that depend on it are repeatable.
const CLOCK_STEP_NS: u64 = 1_000;

loom::lazy_static! {
    static ref KERNEL: Kernel = Kernel::default();
}

/// Its lock is not one of loom's, for no model switches threads within a call of the kernel.
#[derive(Default)]
struct Kernel {
    stream: std::sync::Mutex<Vec<u8>>,
    /// How many bytes the kernel takes before the connection is reset; 0: it never is.
    resets_after: AtomicU64,
    forks: AtomicU64,
    now_ns: AtomicU64,
}

pub(super) fn monotonic_ns() -> u64 {
    KERNEL.now_ns.fetch_add(CLOCK_STEP_NS, Ordering::Relaxed)
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

/// Stands for `process::Generation`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Generation(u64);

impl Generation {
    pub(super) fn current() -> Self {
        Self(KERNEL.forks.load(Ordering::Relaxed))
    }

    pub(super) fn is_past(self) -> bool {
        KERNEL.forks.load(Ordering::Relaxed) != self.0
    }
}

/// Make this process a child from now on.
pub(super) fn fork() {
    KERNEL.forks.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn reset_after(bytes: u64) {
    KERNEL.resets_after.store(bytes, Ordering::Relaxed);
}

/// The bytes that the kernel took, in order.
pub(super) fn stream() -> Vec<u8> {
    KERNEL.stream.lock().unwrap().clone()
}
