//! One thread that sends on many connections: bytes that one of them does not take now wait here, and
//! hold up no other.
//!
//! [`calls`] has a send call for each message; [`ring`] hands many sends over by one call of io_uring.

pub mod calls;
pub mod ring;

use std::{fmt, io, os::fd::RawFd, sync::Arc};
use tinygram_net::clock::monotonic_ns;

/// While more bytes than this wait in this process for slow peers, nothing more is handed over: a sender
/// of a stream waits, and a publisher with a schedule fails.
pub const MOST_WAITING_BYTES: usize = 64 << 20;

/// Why nothing can be sent any more.
#[derive(Debug)]
pub enum SendError {
    /// A connection is gone.
    Lost {
        /// The connection's place in the order in which they were named, from 0.
        connection: usize,
        /// The kernel's error.
        error: io::Error,
    },
    /// A connection takes nothing, or too little.
    Behind(Waiting),
    /// The sends themselves have failed.
    Failed(io::Error),
}

/// The bytes that wait, and the connection that most of them wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// The connection that the most bytes wait for.
    pub connection: usize,
    /// How many bytes wait for it.
    pub bytes: usize,
    /// How many bytes wait for all connections.
    pub all_bytes: usize,
}

/// The system calls so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Those that handed bytes to the kernel.
    pub writes: u64,
    /// Those that found a socket's buffer full.
    pub would_block: u64,
}

/// Messages for many connections, each in the order in which it was handed over.
pub trait Sends: fmt::Debug + Send + Sync {
    /// How many connections there are.
    fn connections(&self) -> usize;
    /// Hand a message over for one connection, at the latest with the next `flush`.
    ///
    /// # Errors
    /// [`SendError::Lost`] and [`SendError::Failed`].
    fn hand(&mut self, connection: usize, message: &Arc<[u8]>) -> Result<(), SendError>;
    /// Hand to the kernel what it takes for all connections; the rest waits in this process.
    ///
    /// # Errors
    /// Those of `hand`.
    fn flush(&mut self) -> Result<(), SendError>;
    /// Hand over waiting bytes: return when the kernel has taken some, or at `until_ns`.
    ///
    /// # Errors
    /// Those of `hand`.
    fn wait(&mut self, until_ns: u64) -> Result<(), SendError>;
    /// How many bytes wait for all connections; 0: all were handed over.
    fn waiting_bytes(&self) -> usize;
    /// The connection that is most behind; this looks at every connection.
    fn most_waiting(&self) -> Waiting;
    /// The calls so far.
    fn calls(&self) -> Calls;
}

/// Sends over these connected sockets, which must stay open as long as the result lives: with `is_ring`
/// by io_uring(7), otherwise with a send call for each message.
///
/// # Errors
/// When the kernel does not permit io_uring, or has no descriptor to give.
pub fn over(fds: Vec<RawFd>, is_ring: bool) -> io::Result<Box<dyn Sends>> {
    Ok(if is_ring {
        Box::new(ring::ByRing::new(&fds)?)
    } else {
        Box::new(calls::ByCalls::new(fds)?)
    })
}

/// Return when nothing waits any more.
///
/// # Errors
/// [`SendError`]; also where no connection takes anything for `patience_ns`.
pub fn hand_over(sends: &mut dyn Sends, patience_ns: u64) -> Result<(), SendError> {
    let mut before = None;
    let mut give_up_ns = 0;
    while sends.waiting_bytes() > 0 {
        let waiting = sends.waiting_bytes();
        if before != Some(waiting) {
            before = Some(waiting);
            give_up_ns = monotonic_ns() + patience_ns;
        } else if monotonic_ns() > give_up_ns {
            return Err(SendError::Behind(sends.most_waiting()));
        }
        sends.wait(give_up_ns)?;
    }
    Ok(())
}

/// Whether more may be handed over.
///
/// # Errors
/// [`SendError::Behind`] while [`MOST_WAITING_BYTES`] wait.
pub fn check_bound(sends: &dyn Sends) -> Result<(), SendError> {
    if sends.waiting_bytes() > MOST_WAITING_BYTES {
        return Err(SendError::Behind(sends.most_waiting()));
    }
    Ok(())
}

/// The connection that the most bytes wait for; `of_each`: how many wait for each.
fn most_of(of_each: impl Iterator<Item = usize>, all_bytes: usize) -> Waiting {
    let most = of_each.enumerate().max_by_key(|(_, bytes)| *bytes);
    let (connection, bytes) = most.unwrap_or_default();
    Waiting {
        connection,
        bytes,
        all_bytes,
    }
}

impl SendError {
    /// The text of the error; a connection's peer is called `peer` in it.
    pub fn told(&self, peer: &str) -> String {
        match self {
            Self::Lost { connection, error } => {
                format!("{peer} {connection} has ended its connection: {error}")
            }
            Self::Behind(Waiting {
                connection,
                bytes,
                all_bytes,
            }) => format!(
                "{peer} {connection} does not keep up: {bytes} of the {all_bytes} bytes that wait \
                 here wait for it"
            ),
            Self::Failed(error) => error.to_string(),
        }
    }
}

impl From<io::Error> for SendError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<SendError> for io::Error {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Failed(error) => error,
            told => io::Error::other(told.told("receiver")),
        }
    }
}

#[cfg(test)]
mod tests;
