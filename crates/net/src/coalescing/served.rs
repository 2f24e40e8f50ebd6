//! A connection as the writing thread sees it.

use super::failure::FlushError;
use std::{io, os::fd::RawFd, sync::Arc};

/// A connection that the writing thread writes for. A trait, because connections know the thread.
#[cfg_attr(all(test, loom), allow(dead_code))] // No model ends the process.
pub(super) trait Served: Send + Sync {
    fn fd(&self) -> RawFd;
    /// The thread visits: write what is due, once.
    fn write_due(&self) -> NextVisit;
    /// What is held can no longer be written; the next call of a sender fails with this error.
    fn give_up(&self, error: &io::Error);
    /// Whether something is held, or a failure was returned to nobody.
    fn has_loose_ends(&self) -> bool;
    /// Have all that was handed over leave.
    fn hurry_all(self: Arc<Self>);
    /// Wait until all that was handed over has left, or `until_ns` has come.
    fn flush_all(self: Arc<Self>, until_ns: u64) -> Result<(), FlushError>;
}

/// When the writing thread visits a connection next.
pub(super) enum NextVisit {
    /// When a sender tells it to come.
    Rest,
    /// At this time, CLOCK_MONOTONIC ns.
    At(u64),
    /// When the kernel takes bytes.
    WhenWritable,
    /// After the other connections.
    Again,
}
