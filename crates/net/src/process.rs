//! Forks, threads and signals of this process.

use std::{
    mem, ptr,
    sync::{
        Once,
        atomic::{AtomicU64, Ordering},
    },
};

/// A number that no other living thread of the process has. It is read for each message.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn thread_id() -> usize {
    let control_block: usize;
    // SAFETY: it reads the address of the thread's control block, which is stored at the block's start
    // (System V ABI, thread-local storage), and touches nothing else.
    unsafe {
        std::arch::asm!(
            "mov {}, fs:0",
            out(reg) control_block,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    control_block
}

/// A number that no other living thread of the process has. It is read for each message.
#[cfg(not(target_arch = "x86_64"))]
pub fn thread_id() -> usize {
    // SAFETY: it always succeeds, and touches no memory of ours.
    unsafe { libc::pthread_self() as usize }
}

/// How many forks there were, times `FORK`.
static FORKS: AtomicU64 = AtomicU64::new(0);
/// More than the address of any control block.
const FORK: u64 = 1 << 48;
static COUNTS_FORKS: Once = Once::new();

/// A number that distinguishes a process from its parents and children: it counts the forks between the
/// process that first asked for it and this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation(u64);

impl Generation {
    /// The generation of this process; from the first call on, forks are counted.
    pub fn current() -> Self {
        extern "C" fn count_fork() {
            FORKS.fetch_add(FORK, Ordering::Relaxed);
        }
        COUNTS_FORKS.call_once(|| {
            // SAFETY: `count_fork` touches one atomic, which a child may do. The call fails only
            // without memory, and then a fork goes unnoticed.
            unsafe { libc::pthread_atfork(None, None, Some(count_fork)) };
        });
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether it is a parent's generation: what was held or locked then belongs to that process.
    #[inline]
    pub fn is_past(self) -> bool {
        FORKS.load(Ordering::Relaxed) != self.0
    }
}

/// A thread of a process, as one number: it is compared for each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller(u64);

impl Caller {
    /// The calling thread, in this process.
    #[inline]
    pub fn current() -> Self {
        Self((thread_id() as u64).wrapping_add(FORKS.load(Ordering::Relaxed)))
    }

    /// The same thread of a process that was forked meanwhile.
    pub fn moved(self, from: Generation, to: Generation) -> Self {
        Self(self.0.wrapping_sub(from.0).wrapping_add(to.0))
    }
}

/// Have the calling thread's wake-ups preempt nobody (SCHED_BATCH, sched(7)): it runs when the thread
/// that woke it waits or has used up its time slice. A thread whose policy is not the default keeps it.
pub fn let_wakes_preempt_nobody() {
    // SAFETY: 0 is the calling thread; all-zero is a valid sched_param, and the only one for this
    // policy. If the call is not permitted, nothing changes.
    unsafe {
        if libc::sched_getscheduler(0) == libc::SCHED_OTHER {
            let parameters: libc::sched_param = mem::zeroed();
            libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters);
        }
    }
}

/// Run `act` with all signals blocked; a thread that it starts inherits that.
pub fn with_signals_blocked<T>(act: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are initialized before they are read, and outlive the calls.
    unsafe {
        let mut all: libc::sigset_t = mem::zeroed();
        let mut before: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let done = act();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
        done
    }
}
