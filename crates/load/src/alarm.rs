//! Ends a wait of epoll(7) at an exact time.

use std::{io, os::fd::AsRawFd};
use tinygram_net::{
    epoll::{Epoll, For},
    timer::TimerFd,
};

/// Ends a wait for connections when the next message or call is due; epoll's own timeout counts
/// milliseconds.
#[derive(Debug, Default)]
pub struct Alarm {
    timer: Option<TimerFd>,
    at_ns: u64,
}

impl Alarm {
    /// Ring at `at_ns`, CLOCK_MONOTONIC, in place of any time set before.
    pub fn set(&mut self, epoll: &Epoll, at_ns: u64) -> io::Result<()> {
        let timer = match &mut self.timer {
            Some(timer) => timer,
            none => {
                let timer = none.insert(TimerFd::new()?);
                epoll.watch(timer.as_raw_fd(), For::Reading)?;
                timer
            }
        };
        if self.at_ns != at_ns {
            timer.set(at_ns)?;
            self.at_ns = at_ns;
        }
        Ok(())
    }

    /// It has rung: be silent until it is set again.
    pub fn clear(&mut self) -> io::Result<()> {
        if let Some(timer) = &mut self.timer {
            timer.take()?;
            self.at_ns = 0;
        }
        Ok(())
    }
}
