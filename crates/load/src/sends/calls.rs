//! A send call for each message; epoll(7) tells when a connection that was full takes more.

use super::{Calls, SendError, Sends, Waiting, most_of};
use crate::socket::by_fd::ByFd;
use std::{
    io::{self, ErrorKind},
    os::fd::{AsRawFd, RawFd},
    sync::Arc,
};
use tinygram_net::{
    epoll::{Epoll, For},
    socket::send_now,
    timer::TimerFd,
};

/// See [`Sends`].
#[derive(Debug)]
pub struct ByCalls {
    fds: Vec<RawFd>,
    /// The bytes that wait for each connection; nearly always none, which takes no memory.
    waiting: Vec<Behind>,
    all_waiting_bytes: usize,
    numbers: ByFd<usize>,
    epoll: Epoll,
    timer: TimerFd,
    calls: Calls,
}

/// The bytes that wait for a connection, from `sent` on.
#[derive(Clone, Debug, Default)]
struct Behind {
    bytes: Vec<u8>,
    sent: usize,
}

impl Behind {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Forget the first `sent` bytes, which were sent. The rest is moved only when it is no more than what
    /// is forgotten: if each send moved it, a peer that takes little at a time would cost quadratic time.
    fn cut(&mut self, sent: usize) {
        self.sent += sent;
        if self.rest().is_empty() {
            *self = Self::default();
        } else if self.sent >= self.rest().len() {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }
}

impl ByCalls {
    /// # Errors
    /// When the kernel has no descriptor to give.
    pub fn new(fds: Vec<RawFd>) -> io::Result<Self> {
        let (epoll, timer) = (Epoll::new()?, TimerFd::new()?);
        epoll.watch(timer.as_raw_fd(), For::Reading)?;
        Ok(Self {
            waiting: vec![Behind::default(); fds.len()],
            numbers: fds.iter().copied().zip(0..).collect(),
            fds,
            all_waiting_bytes: 0,
            epoll,
            timer,
            calls: Calls::default(),
        })
    }

    /// Send as much of `bytes` as a connection takes now. Returns how many bytes that was.
    fn send(&mut self, connection: usize, bytes: &[u8]) -> Result<usize, SendError> {
        let sent = send_now(self.fds[connection], bytes, &[])
            .map_err(|error| SendError::Lost { connection, error })?;
        match sent {
            0 => self.calls.would_block += 1,
            _ => self.calls.writes += 1,
        }
        Ok(sent)
    }

    fn on_writable(&mut self, connection: usize) -> Result<(), SendError> {
        let mut waiting = std::mem::take(&mut self.waiting[connection]);
        let sent = self.send(connection, waiting.rest())?;
        self.all_waiting_bytes -= sent;
        waiting.cut(sent);
        if waiting.rest().is_empty() {
            self.epoll.unwatch(self.fds[connection]);
        }
        self.waiting[connection] = waiting;
        Ok(())
    }
}

impl Sends for ByCalls {
    fn connections(&self) -> usize {
        self.fds.len()
    }

    fn hand(&mut self, connection: usize, message: &Arc<[u8]>) -> Result<(), SendError> {
        let is_behind = !self.waiting[connection].rest().is_empty();
        let sent = if is_behind {
            0
        } else {
            self.send(connection, message)?
        };
        if sent < message.len() {
            self.waiting[connection]
                .bytes
                .extend_from_slice(&message[sent..]);
            self.all_waiting_bytes += message.len() - sent;
            if !is_behind {
                self.epoll.watch(self.fds[connection], For::Writing)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SendError> {
        Ok(())
    }

    fn wait(&mut self, until_ns: u64) -> Result<(), SendError> {
        self.timer.set(until_ns)?;
        let ready = match self.epoll.wait(-1) {
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            outcome => outcome?,
        };
        for index in 0..ready {
            let fd = self.epoll.ready(index).fd;
            if fd == self.timer.as_raw_fd() {
                self.timer.take()?;
            } else if let Some(&connection) = self.numbers.get(fd) {
                self.on_writable(connection)?;
            }
        }
        Ok(())
    }

    fn waiting_bytes(&self) -> usize {
        self.all_waiting_bytes
    }

    fn most_waiting(&self) -> Waiting {
        let of_each = self.waiting.iter().map(|behind| behind.rest().len());
        most_of(of_each, self.all_waiting_bytes)
    }

    fn calls(&self) -> Calls {
        self.calls
    }
}
