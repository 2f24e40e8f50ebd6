//! A call of the kernel for each send and each read; epoll(7) tells which connections have what to do.

use super::{Desk, Drives, LONGEST_WAIT_MS};
use crate::{rr::tally::CallError, socket::receive_now};
use std::{
    io::{self, ErrorKind},
    os::fd::RawFd,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use tinygram_net::{
    clock::monotonic_ns,
    epoll::{Epoll, For},
    socket::send_now,
};

const BUFFER_BYTES: usize = 64 << 10;

/// See [`Drives`].
#[derive(Debug)]
pub struct ByEpoll {
    epoll: Epoll,
    fds: Vec<RawFd>,
    /// Descriptor → caller.
    by_fd: Vec<usize>,
    watched: Vec<For>,
    buffer: Vec<u8>,
}

impl ByEpoll {
    /// Watch these connections.
    pub fn new(fds: Vec<RawFd>) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        let most = fds.iter().copied().max().unwrap_or(0) as usize;
        let mut by_fd = vec![usize::MAX; most + 1];
        for (caller, &fd) in fds.iter().enumerate() {
            by_fd[fd as usize] = caller;
            epoll.watch(fd, For::Reading)?;
        }
        Ok(Self {
            epoll,
            watched: vec![For::Reading; fds.len()],
            fds,
            by_fd,
            buffer: vec![1; BUFFER_BYTES],
        })
    }

    /// Send what is left of a caller's request, as far as the kernel takes it now.
    fn send(&mut self, desk: &mut Desk<'_>, caller: usize) -> Result<(), CallError> {
        let index = desk.request(caller);
        let failed = |source| CallError::Send { index, source };
        let mut wanted = For::Reading;
        while let Some(range) = desk.to_send(caller) {
            let rest = &desk.content().request(index)[range];
            let sent = send_now(self.fds[caller], rest, b"").map_err(failed)?;
            desk.on_sent(caller, sent);
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

    /// Take what has come of a caller's reply, and let it call again when that is whole.
    fn receive(&mut self, desk: &mut Desk<'_>, caller: usize) -> Result<(), CallError> {
        let missing = desk.missing(caller).unwrap_or(1);
        let room = missing.min(self.buffer.len() as u64) as usize;
        let count = receive_now(self.fds[caller], &mut self.buffer[..room]).map_err(|source| {
            CallError::Receive {
                index: desk.request(caller),
                source,
            }
        })?;
        let Some(count) = count else {
            return Ok(());
        };
        desk.on_received(caller, &self.buffer[..count], monotonic_ns())?;
        if desk.end(caller) && desk.begin(caller)? {
            self.send(desk, caller)?;
        }
        Ok(())
    }
}

impl Drives for ByEpoll {
    fn call(&mut self, desk: &mut Desk<'_>, is_stopped: &AtomicBool) -> Result<(), CallError> {
        for caller in 0..desk.len() {
            if desk.begin(caller)? {
                self.send(desk, caller)?;
            }
        }
        while desk.is_calling() && !is_stopped.load(Relaxed) {
            let ready = match self.epoll.wait(LONGEST_WAIT_MS) {
                Err(error) if error.kind() == ErrorKind::Interrupted => 0,
                outcome => outcome.map_err(|error| CallError::Thread(error.to_string()))?,
            };
            for index in 0..ready {
                let caller = self.by_fd[self.epoll.ready(index).fd as usize];
                if desk.to_send(caller).is_some() {
                    self.send(desk, caller)?;
                } else {
                    self.receive(desk, caller)?;
                }
            }
        }
        Ok(())
    }
}
