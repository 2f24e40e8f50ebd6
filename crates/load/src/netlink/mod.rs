//! A socket to the kernel itself (netlink(7)): a request, and datagrams in answer.
//!
//! `request` makes the bytes of the one, and `wire` reads those of the others.

pub mod request;
pub mod wire;

use crate::socket::set_option;
use std::{
    io, mem,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};
use tinygram_net::clock::monotonic_ns;
use wire::{Outcome, ReplyError};

/// The kernel's datagrams have 32 KiB at most.
const BUFFER_BYTES: usize = 64 << 10;
/// The kernel answers at once; a datagram that does not come by then will not.
const DATAGRAM_LIMIT_S: libc::time_t = 1;
/// What a whole answer may take.
const ANSWER_LIMIT_NS: u64 = 10_000_000_000;

impl From<ReplyError> for io::Error {
    fn from(error: ReplyError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// Speaks to one part of the kernel, of one network namespace: the one in which it was opened. After
/// an error open another one.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    give_up_ns: u64,
    buffer: Vec<u8>,
}

impl Netlink {
    /// In the calling thread's network namespace; `protocol` is a NETLINK_… of the kernel's.
    ///
    /// # Errors
    /// Where the kernel does not have it (EPROTONOSUPPORT), or no descriptor to give.
    pub fn open(protocol: libc::c_int) -> io::Result<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: takes numbers; the result is checked before it is owned.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, protocol) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just created and belongs to nobody else.
        Self::over(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Over a socket that was opened elsewhere: it stays of the namespace in which that was. It must
    /// have no other user meanwhile; `fd` itself is left alone.
    ///
    /// # Errors
    /// When `fd` is no open descriptor, or there is none to give.
    pub fn on(fd: RawFd) -> io::Result<Self> {
        // SAFETY: takes numbers; the result is checked before it is owned.
        let own = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
        if own < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `own` was just created and belongs to nobody else.
        Self::over(unsafe { OwnedFd::from_raw_fd(own) })
    }

    fn over(socket: OwnedFd) -> io::Result<Self> {
        let limit = libc::timeval {
            tv_sec: DATAGRAM_LIMIT_S,
            tv_usec: 0,
        };
        let fd = socket.as_raw_fd();
        set_option(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &limit)?;
        Ok(Self {
            socket,
            sequence: 0,
            give_up_ns: 0,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Send what `request` makes for a sequence number, which the answer has too; then `read` gets
    /// each datagram, and that number, until it says that the answer is whole.
    ///
    /// # Errors
    /// What the kernel says, in its answer too; `InvalidData` for one that is none; `TimedOut`.
    pub fn exchange(
        &mut self,
        request: impl FnOnce(u32) -> Vec<u8>,
        mut read: impl FnMut(&[u8], u32) -> Result<Outcome, ReplyError>,
    ) -> io::Result<()> {
        let sequence = self.ask(request)?;
        loop {
            match read(self.receive()?, sequence)? {
                Outcome::More => {}
                Outcome::Done => return Ok(()),
                Outcome::Failed(errno) => return Err(io::Error::from_raw_os_error(errno)),
            }
        }
    }

    fn ask(&mut self, request: impl FnOnce(u32) -> Vec<u8>) -> io::Result<u32> {
        self.sequence = self.sequence.wrapping_add(1);
        self.give_up_ns = monotonic_ns() + ANSWER_LIMIT_NS;
        let request = request(self.sequence);
        let fd = self.socket.as_raw_fd();
        // SAFETY: all-zero is a valid sockaddr_nl; as an address it is the kernel's own.
        let mut kernel: libc::sockaddr_nl = unsafe { mem::zeroed() };
        kernel.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        // SAFETY: the kernel reads `request` and a sockaddr_nl.
        let sent = unsafe {
            libc::sendto(
                fd,
                request.as_ptr().cast(),
                request.len(),
                0,
                ptr::from_ref(&kernel).cast(),
                size_of_val(&kernel) as libc::socklen_t,
            )
        };
        match sent {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(self.sequence),
        }
    }

    /// The next datagram of the kernel.
    fn receive(&mut self) -> io::Result<&[u8]> {
        loop {
            if monotonic_ns() > self.give_up_ns {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // SAFETY: all-zero is a valid sockaddr_nl.
            let mut from: libc::sockaddr_nl = unsafe { mem::zeroed() };
            let mut from_length = size_of_val(&from) as libc::socklen_t;
            // SAFETY: the kernel writes at most the buffer's length, and one sockaddr_nl. With
            // MSG_TRUNC it says how long the datagram was, not how much of it there was room for.
            let length = unsafe {
                libc::recvfrom(
                    self.socket.as_raw_fd(),
                    self.buffer.as_mut_ptr().cast(),
                    self.buffer.len(),
                    libc::MSG_TRUNC,
                    ptr::from_mut(&mut from).cast(),
                    &mut from_length,
                )
            };
            if length < 0 {
                let error = io::Error::last_os_error();
                match error.kind() {
                    io::ErrorKind::Interrupted => continue,
                    io::ErrorKind::WouldBlock => return Err(io::ErrorKind::TimedOut.into()),
                    _ => return Err(error),
                }
            }
            let length = length as usize;
            if length > self.buffer.len() {
                let fault = format!("a netlink datagram of {length} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, fault));
            }
            // Another process may send to us, too.
            if from.nl_pid == 0 {
                return Ok(&self.buffer[..length]);
            }
        }
    }
}
