//! Why bytes were not sent, and how many.

use std::io;
use thiserror::Error;

/// A connection that failed: what became of the bytes that were handed over. Every later call
/// tells the same. The bytes are counted in the order in which they were sent: first those that
/// arrived, then those of which it is unknown, then those that never left.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "the connection failed: {}; of {} bytes {acknowledged_bytes} arrived, of {unknown_bytes} it \
     is unknown, {unsent_bytes} were never sent",
    io::Error::from_raw_os_error(*errno),
    acknowledged_bytes + unknown_bytes + unsent_bytes
)]
#[non_exhaustive]
pub struct Failure {
    /// What the kernel said (errno(3)); ECONNABORTED: this side gave up what was held.
    pub errno: i32,
    /// The peer's kernel had acknowledged them.
    pub acknowledged_bytes: u64,
    /// Our kernel had taken them, or was about to; whether they arrived cannot be known.
    pub unknown_bytes: u64,
    /// They never left this process.
    pub unsent_bytes: u64,
}

impl Failure {
    /// What the kernel said, as the standard library sorts it.
    pub fn kind(&self) -> io::ErrorKind {
        io::Error::from_raw_os_error(self.errno).kind()
    }
}

/// Why a message was not taken, or not sent.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// It would exceed `max_buffered_bytes`: nothing of it was taken.
    #[error("{held_bytes} bytes are held for a peer that takes none: there is no room for more")]
    NoRoom {
        /// What is held, in bytes.
        held_bytes: usize,
    },
    /// The connection was closed by this side: nothing of the message was taken.
    #[error("the socket is closed")]
    Closed,
    /// The connection failed, now or before. Of a message that was handed over just then, what
    /// was not sent counts as unsent.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Why what was handed over has not all been delivered.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlushError {
    /// The timeout ended first.
    #[error("timed out: {unknown_bytes} bytes are not acknowledged, {unsent_bytes} not sent")]
    TimedOut {
        /// Our kernel has taken them, and goes on trying.
        unknown_bytes: u64,
        /// They are held by this process.
        unsent_bytes: u64,
    },
    /// The connection failed.
    #[error(transparent)]
    Failed(#[from] Failure),
}
