//! A pass with a send call for each subscriber; epoll(7) tells when one that was full takes more.

use super::pass::{Calls, Pass, PublishError, Waiting};
use std::{
    io::{self, ErrorKind},
    os::fd::{AsRawFd, RawFd},
};
use tinygram_net::{
    epoll::{Epoll, For},
    socket::send_now,
    timer::TimerFd,
};

/// See [`Pass`].
#[derive(Debug)]
pub struct SendsPass {
    fds: Vec<RawFd>,
    /// What waits for each; nearly always nothing, which takes no memory.
    waiting: Vec<Vec<u8>>,
    all_waiting_bytes: usize,
    /// Descriptor → subscriber.
    by_fd: Vec<usize>,
    epoll: Epoll,
    timer: TimerFd,
    calls: Calls,
}

impl SendsPass {
    /// # Errors
    /// When the kernel has no descriptor to give.
    pub fn new(fds: Vec<RawFd>) -> io::Result<Self> {
        let (epoll, timer) = (Epoll::new()?, TimerFd::new()?);
        epoll.watch(timer.as_raw_fd(), For::Reading)?;
        let most = fds
            .iter()
            .copied()
            .max()
            .unwrap_or(0)
            .max(timer.as_raw_fd());
        let mut by_fd = vec![usize::MAX; most as usize + 1];
        for (subscriber, fd) in fds.iter().enumerate() {
            by_fd[*fd as usize] = subscriber;
        }
        Ok(Self {
            waiting: vec![Vec::new(); fds.len()],
            fds,
            all_waiting_bytes: 0,
            by_fd,
            epoll,
            timer,
            calls: Calls::default(),
        })
    }

    /// How much of `bytes` a subscriber takes now.
    fn send(&mut self, subscriber: usize, bytes: &[u8]) -> Result<usize, PublishError> {
        let sent = send_now(self.fds[subscriber], bytes, &[])
            .map_err(|error| PublishError::Lost { subscriber, error })?;
        match sent {
            0 => self.calls.would_block += 1,
            _ => self.calls.writes += 1,
        }
        Ok(sent)
    }

    fn on_writable(&mut self, subscriber: usize) -> Result<(), PublishError> {
        let mut waiting = std::mem::take(&mut self.waiting[subscriber]);
        let sent = self.send(subscriber, &waiting)?;
        self.all_waiting_bytes -= sent;
        if sent == waiting.len() {
            self.epoll.unwatch(self.fds[subscriber]);
        } else {
            waiting.drain(..sent);
            self.waiting[subscriber] = waiting;
        }
        Ok(())
    }
}

impl Pass for SendsPass {
    fn publish(&mut self, message: Vec<u8>) -> Result<(), PublishError> {
        for subscriber in 0..self.fds.len() {
            let is_behind = !self.waiting[subscriber].is_empty();
            let sent = if is_behind {
                0
            } else {
                self.send(subscriber, &message)?
            };
            if sent < message.len() {
                self.waiting[subscriber].extend_from_slice(&message[sent..]);
                self.all_waiting_bytes += message.len() - sent;
                if !is_behind {
                    self.epoll.watch(self.fds[subscriber], For::Writing)?;
                }
            }
        }
        Ok(())
    }

    fn wait(&mut self, until_ns: u64) -> Result<(), PublishError> {
        self.timer.set(until_ns)?;
        let ready = match self.epoll.wait(-1) {
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            outcome => outcome?,
        };
        for index in 0..ready {
            let fd = self.epoll.ready(index).fd;
            if fd == self.timer.as_raw_fd() {
                self.timer.take()?;
            } else {
                self.on_writable(self.by_fd[fd as usize])?;
            }
        }
        Ok(())
    }

    fn waiting(&self) -> Option<Waiting> {
        if self.all_waiting_bytes == 0 {
            return None;
        }
        let (subscriber, bytes) =
            (self.waiting.iter().map(Vec::len).enumerate()).max_by_key(|(_, bytes)| *bytes)?;
        Some(Waiting {
            subscriber,
            bytes,
            all_bytes: self.all_waiting_bytes,
        })
    }

    fn calls(&self) -> Calls {
        self.calls
    }
}
