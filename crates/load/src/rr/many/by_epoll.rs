//! A system call for each send and each read; epoll(7) tells which connections are ready for what.

use super::{Callers, Calls, LONGEST_WAIT_MS};
use crate::{
    alarm::Alarm,
    rr::error::CallError,
    socket::{by_fd::ByFd, receive_now},
};
use std::{
    io::{self, ErrorKind},
    os::fd::RawFd,
};
use tinygram_net::{
    clock::monotonic_ns,
    epoll::{Epoll, For},
    socket::send_now,
};

const BUFFER_BYTES: usize = 64 << 10;

/// See [`Calls`].
#[derive(Debug)]
pub struct ByEpoll {
    epoll: Epoll,
    fds: Vec<RawFd>,
    callers: ByFd<usize>,
    watched: Vec<For>,
    buffer: Vec<u8>,
    alarm: Alarm,
}

impl ByEpoll {
    /// Watch these connections.
    pub fn new(fds: Vec<RawFd>) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        for &fd in &fds {
            epoll.watch(fd, For::Reading)?;
        }
        Ok(Self {
            epoll,
            watched: vec![For::Reading; fds.len()],
            callers: fds.iter().copied().zip(0..).collect(),
            fds,
            buffer: vec![1; BUFFER_BYTES],
            alarm: Alarm::default(),
        })
    }

    /// Send what is left of a caller's request, as far as the kernel takes it now.
    fn send(&mut self, callers: &mut Callers<'_>, caller: usize) -> Result<(), CallError> {
        let index = callers.request(caller);
        let failed = |source| CallError::Send { index, source };
        let mut wanted = For::Reading;
        while let Some(range) = callers.to_send(caller) {
            let rest = &callers.content().request(index)[range];
            let sent = send_now(self.fds[caller], rest, b"").map_err(failed)?;
            callers.on_sent(caller, sent);
            if sent < rest.len() {
                wanted = For::Writing;
                break;
            }
        }
        if self.watched[caller] != wanted {
            self.epoll
                .change(self.fds[caller], wanted)
                .map_err(failed)?;
            self.watched[caller] = wanted;
        }
        Ok(())
    }

    /// Take what has come of a caller's reply, and let the caller call again when the reply is whole.
    fn receive(&mut self, callers: &mut Callers<'_>, caller: usize) -> Result<(), CallError> {
        let missing = callers.missing(caller).unwrap_or(1);
        let room = missing.min(self.buffer.len() as u64) as usize;
        let count = receive_now(self.fds[caller], &mut self.buffer[..room]).map_err(|source| {
            CallError::Receive {
                index: callers.request(caller),
                source,
            }
        })?;
        let Some(count) = count else {
            return Ok(());
        };
        callers.on_received(caller, &self.buffer[..count], monotonic_ns())?;
        if callers.end(caller) && callers.begin(caller)? {
            self.send(callers, caller)?;
        }
        Ok(())
    }
}

impl Calls for ByEpoll {
    fn begin(&mut self, callers: &mut Callers<'_>, caller: usize) -> Result<(), CallError> {
        self.send(callers, caller)
    }

    fn advance(
        &mut self,
        callers: &mut Callers<'_>,
        until_ns: Option<u64>,
    ) -> Result<(), CallError> {
        let failed = |error: io::Error| CallError::Thread(error.to_string());
        if let Some(until_ns) = until_ns {
            self.alarm.set(&self.epoll, until_ns).map_err(failed)?;
        }
        let ready = match self.epoll.wait(LONGEST_WAIT_MS) {
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            outcome => outcome.map_err(failed)?,
        };
        for index in 0..ready {
            let Some(&caller) = self.callers.get(self.epoll.ready(index).fd) else {
                self.alarm.clear().map_err(failed)?;
                continue;
            };
            if callers.to_send(caller).is_some() {
                self.send(callers, caller)?;
            } else {
                self.receive(callers, caller)?;
            }
        }
        Ok(())
    }
}
