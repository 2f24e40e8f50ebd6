//! Why bytes were not sent, and how many.

use std::io;
use thiserror::Error;

/// The failure of a connection, and the fate of the bytes that were handed over. Every later call
/// returns the same failure. The bytes are counted in the order in which they were sent: first those
/// that arrived, then those of which it is unknown whether they did, then those that never left.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "the connection failed: {}; of {} bytes {acknowledged_bytes} arrived, of {unknown_bytes} it \
     is unknown, {unsent_bytes} were never sent",
    io::Error::from_raw_os_error(*errno),
    acknowledged_bytes + unknown_bytes + unsent_bytes
)]
#[non_exhaustive]
pub struct Failure {
    /// The kernel's error number (errno(3)); ECONNABORTED: this side gave up what was held.
    pub errno: i32,
    /// How many bytes the peer's kernel had acknowledged.
    pub acknowledged_bytes: u64,
    /// How many bytes our kernel had taken, or was about to take, without an acknowledgement: whether
    /// they arrived cannot be known.
    pub unknown_bytes: u64,
    /// How many bytes never left this process.
    pub unsent_bytes: u64,
}

impl Failure {
    /// The standard library's kind of the kernel's error.
    pub fn kind(&self) -> io::ErrorKind {
        io::Error::from_raw_os_error(self.errno).kind()
    }
}

/// Why a message was not taken, or not sent.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The message would exceed `max_buffered_bytes`: nothing of it was taken.
    #[error("{held_bytes} bytes are held for a peer that takes none: there is no room for more")]
    NoRoom {
        /// How many bytes are held.
        held_bytes: usize,
    },
    /// The connection was closed by this side: nothing of the message was taken.
    #[error("the socket is closed")]
    Closed,
    /// The connection failed, now or before. If it failed as this message was handed over, the bytes
    /// of the message that were not sent count as unsent.
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
        /// How many bytes our kernel has taken, and goes on trying to deliver.
        unknown_bytes: u64,
        /// How many bytes this process still holds.
        unsent_bytes: u64,
    },
    /// The connection failed.
    #[error(transparent)]
    Failed(#[from] Failure),
}
