//! What a worker process of the bench says about itself, and where it stays.

use std::{ffi::CString, io};
use tinygram_net::clock::read_clock;

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

/// Keep the calling thread on one core.
///
/// # Errors
/// When there is no such core, or this process may not use it.
pub fn pin_thread(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: an all-zero set is empty; `cpu` is within the set; the kernel reads the set.
    let status = unsafe {
        let mut cpus: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut cpus);
        libc::sched_setaffinity(0, size_of_val(&cpus), &cpus)
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Let this thread's timers fire exactly, or as the kernel does by default: up to 50 µs late.
/// Threads started afterwards by this thread inherit it.
pub fn set_exact_timers(is_exact: bool) {
    let slack_ns: libc::c_ulong = is_exact.into();
    // SAFETY: PR_SET_TIMERSLACK takes one number (0: the default) and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns) };
}

/// The CPU clock of the calling thread, for others to read while it runs.
pub fn thread_cpu_clock() -> Option<libc::clockid_t> {
    let mut clock = 0;
    // SAFETY: the calling thread runs; the clock is written to where there is room for one.
    let status = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
    (status == 0).then_some(clock)
}

/// CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
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
