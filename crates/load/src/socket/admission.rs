//! The recognition of a client's own connections: they come from its address, and between two hosts they
//! begin with its token (docs/decisions/0034).
//!
//! The kernel keeps a connection back until its first bytes are there (TCP_DEFER_ACCEPT, tcp(7)), so
//! that the server never waits for them: they are the token, or it is another program's connection.
//! The server answers with one byte. The client waits for that byte: when it sends next, nothing of the
//! token is on its way, and Nagle's rule begins as on a fresh connection.

use crate::socket::receive_now;
use rustix::{
    io::Errno,
    net::{self, SendFlags},
};
use std::{
    fmt,
    hint::black_box,
    io::{self, ErrorKind},
    net::IpAddr,
    os::fd::{AsFd, AsRawFd},
    time::{Duration, Instant},
};

/// Bytes of a token.
pub const TOKEN_BYTES: usize = 16;
/// The server's answer on a connection that it admits.
pub const ADMITTED: u8 = b'+';
/// How long the kernel waits for a connection's token. After that it hands the connection over without
/// one, and it is turned away.
const PATIENCE: Duration = Duration::from_secs(5);

/// A secret of one control connection.
#[derive(Clone, Copy)]
pub struct Token([u8; TOKEN_BYTES]);

impl Token {
    /// Whether `bytes` are the token; the time that this takes does not reveal how many of them match.
    pub fn is(&self, bytes: &[u8]) -> bool {
        if bytes.len() != TOKEN_BYTES {
            return false;
        }
        let pairs = self.0.iter().zip(bytes);
        let differing = pairs.fold(0, |differing, (ours, theirs)| {
            black_box(differing | (ours ^ theirs))
        });
        differing == 0
    }
}

impl From<[u8; TOKEN_BYTES]> for Token {
    fn from(bytes: [u8; TOKEN_BYTES]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

/// The marks by which a client's connections are recognized, for both of their ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Admission {
    /// The address that they come from; `None`: the kernel picks it, and any will do.
    pub host: Option<IpAddr>,
    /// The token that they begin with; `None`: no token.
    pub token: Option<Token>,
}

impl Admission {
    /// Have the kernel hand over no connection whose token has not come. Call this before listening.
    ///
    /// # Errors
    /// When `listener` is no socket of TCP.
    pub fn guard(&self, listener: impl AsFd) -> io::Result<()> {
        if self.token.is_none() {
            return Ok(());
        }
        let seconds = PATIENCE.as_secs() as libc::c_int;
        // SAFETY: the kernel reads one int.
        let status = unsafe {
            libc::setsockopt(
                listener.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_DEFER_ACCEPT,
                std::ptr::from_ref(&seconds).cast(),
                size_of_val(&seconds) as libc::socklen_t,
            )
        };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Read the token of a connection from the address `peer` that was accepted, and tell the client that it is
    /// admitted; false: it is not the client's. This never waits for bytes that have not come, and reads
    /// nothing after the token.
    pub fn admit(&self, stream: impl AsFd, peer: IpAddr) -> bool {
        if self.host.is_some_and(|ours| peer != ours) {
            return false;
        }
        let Some(token) = self.token else {
            return true;
        };
        let mut bytes = [0; TOKEN_BYTES];
        let count = receive_now(stream.as_fd().as_raw_fd(), &mut bytes);
        let Ok(Some(TOKEN_BYTES)) = count else {
            return false;
        };
        token.is(&bytes)
            // Not through the C library, whose calls may be counted (count_writes.c).
            && net::send(stream, &[ADMITTED], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) == Ok(1)
    }

    /// Send the token on a connection that has just been made, and wait until the server has it.
    ///
    /// # Errors
    /// `ConnectionRefused` when the server ends the connection; `TimedOut` when it says nothing;
    /// otherwise what the kernel says.
    pub fn introduce(&self, stream: impl AsFd, timeout: Duration) -> io::Result<()> {
        self.bring(&stream)?;
        self.wait_admitted(&stream, timeout)
    }

    /// Send the token on a connection that has just been made.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn bring(&self, stream: impl AsFd) -> io::Result<()> {
        let Some(token) = self.token else {
            return Ok(());
        };
        let sent = net::send(&stream, &token.0, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
        if sent != TOKEN_BYTES {
            return Err(io::Error::other("the kernel took a part of the token only"));
        }
        Ok(())
    }

    /// Wait until the server has the token that was sent.
    ///
    /// # Errors
    /// The same as [`Admission::introduce`] has when it waits.
    pub fn wait_admitted(&self, stream: impl AsFd, timeout: Duration) -> io::Result<()> {
        if self.token.is_none() {
            return Ok(());
        }
        let mut answer = [0];
        match received_within(&stream, &mut answer, timeout)? {
            1 if answer == [ADMITTED] => Ok(()),
            1 => Err(io::Error::other(
                "another program than the far end answered",
            )),
            _ => Err(io::Error::new(
                ErrorKind::ConnectionRefused,
                "the far end has turned the connection away: it does not know its token",
            )),
        }
    }
}

/// Read what comes within the timeout; 0: the peer has ended the connection.
fn received_within(stream: impl AsFd, target: &mut [u8], timeout: Duration) -> io::Result<usize> {
    let give_up = Instant::now() + timeout;
    let fd = stream.as_fd();
    loop {
        match receive_now(fd.as_raw_fd(), target) {
            Ok(Some(count)) => return Ok(count),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(0),
            Err(error) => return Err(error),
            Ok(None) => {}
        }
        let left = give_up.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        let left = rustix::event::Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut waiting = [rustix::event::PollFd::new(
            &fd,
            rustix::event::PollFlags::IN,
        )];
        match rustix::event::poll(&mut waiting, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests;
