//! CLOCK_MONOTONIC and exact sleeping.

use libc::{CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, TIMER_ABSTIME, timespec};
use std::{ptr, time::Duration};

/// CLOCK_MONOTONIC in nanoseconds.
pub fn monotonic_ns() -> u64 {
    read_clock(CLOCK_MONOTONIC)
}

/// CLOCK_MONOTONIC at the kernel's last clock tick, up to 10 ms ago: several times cheaper.
pub fn coarse_monotonic_ns() -> u64 {
    read_clock(CLOCK_MONOTONIC_COARSE)
}

/// The time `timeout` from now, `u64::MAX` at most.
pub fn after_ns(timeout: Duration) -> u64 {
    let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    monotonic_ns().saturating_add(timeout_ns)
}

/// The time of `clock` in nanoseconds; 0 for a clock that is gone.
pub fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is valid for writing; for a clock that does not exist the kernel says so.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

pub(crate) fn timespec_from_ns(ns: u64) -> timespec {
    timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

/// Sleep until `wake_ns`, and longer only by the time that the kernel needs to wake a thread.
pub fn sleep_until_ns(wake_ns: u64) {
    let wake = timespec_from_ns(wake_ns);
    // SAFETY: `wake` is valid for reading; an absolute sleep needs no remainder.
    while unsafe { libc::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, ptr::null_mut()) }
        == libc::EINTR
    {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_never_ends_early() {
        for gap_ns in [0, 1, 50_000, 3_000_000] {
            let wake_ns = monotonic_ns() + gap_ns;
            sleep_until_ns(wake_ns);
            assert!(monotonic_ns() >= wake_ns);
        }
    }
}
