//! A socket to the kernel itself (netlink(7), sock_diag(7)): a request, and datagrams in answer.
//!
//! `request` makes the bytes of a request, and `wire` reads those of an answer.

pub mod request;
pub mod wire;

use rustix::{
    io::Errno,
    net::{
        self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType,
        netlink::{INET_DIAG, SocketAddrNetlink},
        sockopt::{self, Timeout},
    },
};
use std::{io, os::fd::OwnedFd, time::Duration};
use tinygram_net::clock::monotonic_ns;
use wire::{Outcome, ReplyError};

const KERNEL: SocketAddrNetlink = SocketAddrNetlink::new(0, 0);
/// The kernel's datagrams have 32 KiB at most.
const BUFFER_BYTES: usize = 64 << 10;
/// The kernel answers at once; a datagram that has not come by then never will.
const DATAGRAM_LIMIT: Duration = Duration::from_secs(1);
/// How long a whole answer may take.
const ANSWER_LIMIT_NS: u64 = 10_000_000_000;

impl From<ReplyError> for io::Error {
    fn from(error: ReplyError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// Asks about sockets of one network namespace: the one in which it was opened. After
/// an error open another one.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    give_up_ns: u64,
    buffer: Vec<u8>,
}

impl Netlink {
    /// Open one in the calling thread's network namespace.
    ///
    /// # Errors
    /// When the kernel has no sock_diag (EPROTONOSUPPORT), or no descriptor to give.
    pub fn open() -> io::Result<Self> {
        Self::over(net::socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            // NETLINK_SOCK_DIAG, by its older name.
            Some(INET_DIAG),
        )?)
    }

    /// Use a socket that was opened elsewhere: it asks for the namespace in which it was opened. It must
    /// have no other user meanwhile.
    ///
    /// # Errors
    /// When the kernel takes no timeout for it.
    pub fn over(socket: OwnedFd) -> io::Result<Self> {
        sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(DATAGRAM_LIMIT))?;
        Ok(Self {
            socket,
            sequence: 0,
            give_up_ns: 0,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Send what `request` makes for a sequence number, which the answer has, too; then `read` gets each
    /// datagram and that number, until it says that the answer is whole.
    ///
    /// # Errors
    /// The kernel's error, also one in its answer; `InvalidData` for a malformed answer; `TimedOut`.
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
        net::sendto(&self.socket, &request, SendFlags::empty(), &KERNEL)?;
        Ok(self.sequence)
    }

    /// The next datagram of the kernel.
    fn receive(&mut self) -> io::Result<&[u8]> {
        loop {
            if monotonic_ns() > self.give_up_ns {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // With TRUNC the kernel returns the length of the datagram, not how much of it found room.
            let came = net::recvfrom(&self.socket, &mut self.buffer[..], RecvFlags::TRUNC);
            let (_, length, from) = match came {
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
                came => came?,
            };
            if length > self.buffer.len() {
                let fault = format!("a netlink datagram of {length} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, fault));
            }
            // Another process may send to us, too.
            if from == Some(KERNEL.into()) {
                return Ok(&self.buffer[..length]);
            }
        }
    }
}
