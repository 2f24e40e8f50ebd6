//! A worker process of the bench: its name, rights, core, timers and usage.

pub mod instructions;

use rustix::{
    io::Errno,
    process::{Signal, set_parent_process_death_signal},
    thread::{self, CapabilitySet, CapabilitySets, CpuSet},
};
use std::{ffi::CString, io, num::NonZeroU64};
use tinygram_net::clock::read_clock;

/// Be killed when the parent dies, so that a killed bench leaves no process behind.
///
/// # Errors
/// When `parent_pid` is no longer the parent (it died before this call), or the kernel refuses.
pub fn die_with_parent(parent_pid: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if std::os::unix::process::parent_id() != parent_pid {
        return Err(io::Error::other(format!(
            "process {parent_pid} is not the parent any more"
        )));
    }
    Ok(())
}

/// Give up all capabilities (capabilities(7)), for the calling thread and what it starts from now on: no
/// program that these execute gets any again, whoever owns the program.
///
/// # Errors
/// When the kernel refuses.
pub fn give_up_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    thread::clear_ambient_capability_set()?;
    thread::set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?;
    Ok(thread::set_no_new_privs(true)?)
}

/// Name this process, as `ps` and `pgrep` show it; the kernel keeps 15 bytes.
///
/// # Errors
/// When `name` holds a zero byte.
pub fn set_name(name: &str) -> io::Result<()> {
    Ok(thread::set_name(&CString::new(name)?)?)
}

/// Keep the calling thread on one core.
///
/// # Errors
/// When there is no such core, or this process may not use it.
pub fn pin_thread(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(Errno::INVAL.into());
    }
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    Ok(thread::sched_setaffinity(None, &cpus)?)
}

/// Let this thread's timers fire exactly, or as the kernel does by default: up to 50 µs late.
/// Threads started afterwards by this thread inherit it.
pub fn set_exact_timers(is_exact: bool) {
    let slack_ns = is_exact.then_some(NonZeroU64::MIN);
    thread::set_current_timer_slack(slack_ns).expect("any slack is permitted");
}

/// The CPU clock of the calling thread, for others to read while it runs.
pub fn thread_cpu_clock() -> Option<libc::clockid_t> {
    let mut clock = 0;
    // SAFETY: the calling thread runs; the kernel writes one clock id, for which `clock` has room.
    let status = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
    (status == 0).then_some(clock)
}

/// CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The resources that a thread or process has used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// CPU time, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// How often it gave up the core to wait.
    pub voluntary_context_switches: u64,
    /// How often the scheduler took the core from it.
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

    /// The sum of both.
    pub fn with(self, other: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns + other.cpu_ns,
            voluntary_context_switches: self.voluntary_context_switches
                + other.voluntary_context_switches,
            involuntary_context_switches: self.involuntary_context_switches
                + other.involuntary_context_switches,
        }
    }

    /// The usage since `earlier`.
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
