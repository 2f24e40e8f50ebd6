//! One timer as a file descriptor that an event loop can watch (timerfd_create(2)).

use rustix::{
    io::Errno,
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};
use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    time::Duration,
};

/// A timer of CLOCK_MONOTONIC; its descriptor is readable once its time has come.
#[derive(Debug)]
pub struct TimerFd {
    fd: OwnedFd,
}

impl TimerFd {
    /// A timer that is not set.
    ///
    /// # Errors
    /// When the kernel has no timerfd to give.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { fd })
    }

    /// Set the timer to an absolute time, in place of any earlier one; a past time is the same as now.
    ///
    /// # Errors
    /// When the timer cannot be set.
    pub fn set(&self, at_ns: u64) -> io::Result<()> {
        // A time of 0 would switch it off.
        self.set_to(at_ns.max(1), 0, TimerfdTimerFlags::ABSTIME)
    }

    /// Have the timer expire every `interval_ns`; 0 switches it off.
    ///
    /// # Errors
    /// When the timer cannot be set.
    pub fn set_every(&self, interval_ns: u64) -> io::Result<()> {
        self.set_to(interval_ns, interval_ns, TimerfdTimerFlags::empty())
    }

    fn set_to(&self, first_ns: u64, interval_ns: u64, flags: TimerfdTimerFlags) -> io::Result<()> {
        let value = Itimerspec {
            it_interval: timespec_from_ns(interval_ns),
            it_value: timespec_from_ns(first_ns),
        };
        timerfd_settime(&self.fd, flags, &value)?;
        Ok(())
    }

    /// Read the timer, which clears it; returns whether its time had come.
    ///
    /// # Errors
    /// When the timer cannot be read.
    pub fn take(&self) -> io::Result<bool> {
        match rustix::io::read(&self.fd, &mut [0; 8]) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn timespec_from_ns(ns: u64) -> Timespec {
    let time = Duration::from_nanos(ns);
    Timespec::try_from(time).expect("584 years are a time")
}

impl AsRawFd for TimerFd {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{monotonic_ns, sleep_until_ns};

    #[test]
    fn it_is_readable_once_its_time_has_come_and_only_then() {
        let timer = TimerFd::new().unwrap();
        assert!(!timer.take().unwrap());
        timer.set(monotonic_ns() + 3_600_000_000_000).unwrap();
        assert!(!timer.take().unwrap());
        let at_ns = monotonic_ns() + 3_000_000;
        timer.set(at_ns).unwrap();
        while !timer.take().unwrap() {
            sleep_until_ns(monotonic_ns() + 100_000);
        }
        assert!(monotonic_ns() >= at_ns);
        assert!(!timer.take().unwrap());
    }

    #[test]
    fn it_rings_again_and_again() {
        let timer = TimerFd::new().unwrap();
        timer.set_every(1_000_000).unwrap();
        for _ in 0..3 {
            while !timer.take().unwrap() {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn a_past_time_is_now() {
        let timer = TimerFd::new().unwrap();
        timer.set(0).unwrap();
        while !timer.take().unwrap() {
            std::thread::yield_now();
        }
    }
}
