//! One timer as a file descriptor that an event loop can watch (timerfd_create(2)).

use crate::clock::timespec_from_ns;
use std::{
    io::{self, ErrorKind},
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
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
        // SAFETY: takes two numbers; the result is checked before it is owned.
        let fd = unsafe {
            libc::timerfd_create(
                libc::CLOCK_MONOTONIC,
                libc::TFD_NONBLOCK | libc::TFD_CLOEXEC,
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just created and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd })
    }

    /// Set it to an absolute time, in place of what it was set to; a past time is now.
    ///
    /// # Errors
    /// When the timer cannot be set.
    pub fn set(&self, at_ns: u64) -> io::Result<()> {
        // A time of 0 would switch it off.
        self.set_to(at_ns.max(1), 0, libc::TFD_TIMER_ABSTIME)
    }

    /// Set it to ring again and again, so long after the last time; 0 switches it off.
    ///
    /// # Errors
    /// When the timer cannot be set.
    pub fn set_every(&self, interval_ns: u64) -> io::Result<()> {
        self.set_to(interval_ns, interval_ns, 0)
    }

    fn set_to(&self, first_ns: u64, interval_ns: u64, flags: libc::c_int) -> io::Result<()> {
        let value = libc::itimerspec {
            it_interval: timespec_from_ns(interval_ns),
            it_value: timespec_from_ns(first_ns),
        };
        // SAFETY: `fd` is our timer and `value` is valid for reading.
        let status =
            unsafe { libc::timerfd_settime(self.as_raw_fd(), flags, &value, ptr::null_mut()) };
        match status {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Take note that its time has come; false when it had not.
    ///
    /// # Errors
    /// When the timer cannot be read.
    pub fn take(&self) -> io::Result<bool> {
        let mut expirations = 0u64;
        // SAFETY: reads at most 8 bytes into a u64.
        let count =
            unsafe { libc::read(self.as_raw_fd(), ptr::from_mut(&mut expirations).cast(), 8) };
        if count == 8 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            ErrorKind::WouldBlock => Ok(false),
            _ => Err(error),
        }
    }
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
