//! What a worker process says about itself.

use std::{
    ffi::CString,
    io, mem, ptr,
    sync::{
        Once,
        atomic::{AtomicU64, Ordering},
    },
};

/// Be killed when the parent dies, so that a killed bench leaves no process behind.
///
/// # Errors
/// When `parent_pid` is no longer the parent (it died before this call), or the kernel refuses.
pub fn die_with_parent(parent_pid: u32) -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes one number and touches no memory of ours.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if std::os::unix::process::parent_id() != parent_pid {
        return Err(io::Error::other(format!(
            "process {parent_pid} is not the parent any more"
        )));
    }
    Ok(())
}

/// Name this process, as `ps` and `pgrep` show it; the kernel keeps 15 bytes.
///
/// # Errors
/// When `name` holds a zero byte.
pub fn set_name(name: &str) -> io::Result<()> {
    let name = CString::new(name)?;
    // SAFETY: PR_SET_NAME reads a zero-terminated string.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
    Ok(())
}

/// What the kernel charged this thread or process for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// CPU time, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// How often it waited.
    pub voluntary_context_switches: u64,
    /// How often it was made to wait.
    pub involuntary_context_switches: u64,
}

impl Usage {
    /// The usage of the calling thread so far.
    pub fn of_thread() -> Self {
        // SAFETY: an all-zero rusage is valid, and getrusage fills it.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage
        };
        let ns =
            |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        Self {
            cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime),
            voluntary_context_switches: usage.ru_nvcsw as u64,
            involuntary_context_switches: usage.ru_nivcsw as u64,
        }
    }

    /// What was used since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns - earlier.cpu_ns,
            voluntary_context_switches: self.voluntary_context_switches
                - earlier.voluntary_context_switches,
            involuntary_context_switches: self.involuntary_context_switches
                - earlier.involuntary_context_switches,
        }
    }
}

/// What tells this thread from the process's other living threads.
pub fn thread_id() -> usize {
    // SAFETY: always succeeds, touches no memory of ours.
    unsafe { libc::pthread_self() as usize }
}

static FORKS: AtomicU64 = AtomicU64::new(0);
static COUNTS_FORKS: Once = Once::new();

/// How often this process's ancestors forked, counted from the first call on: what was held, or
/// locked, before the last fork belongs to the parent.
pub fn forks() -> u64 {
    extern "C" fn count_fork() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    if !COUNTS_FORKS.is_completed() {
        COUNTS_FORKS.call_once(|| {
            // SAFETY: `count_fork` touches one atomic, which a child may. It fails only without
            // memory, and then a fork goes unnoticed.
            unsafe { libc::pthread_atfork(None, None, Some(count_fork)) };
        });
    }
    FORKS.load(Ordering::Relaxed)
}

/// Do something, such as starting a thread, which inherits it, with all signals blocked.
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
