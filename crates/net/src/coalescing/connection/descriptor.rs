//! The descriptor that a connection writes to, and which process owns it after a fork.

use crate::coalescing::ground::Generation;
use rustix::net::{Shutdown, shutdown};
use std::{
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::Arc,
};

#[derive(Debug)]
pub(in crate::coalescing) struct Descriptor {
    fd: Arc<OwnedFd>,
    generation: Generation,
    /// Whether the parent process has it too: then only the parent ends the connection.
    is_inherited: bool,
}

impl Descriptor {
    pub(in crate::coalescing) fn new(fd: Arc<OwnedFd>, is_inherited: bool) -> Self {
        Self {
            fd,
            generation: Generation::current(),
            is_inherited,
        }
    }

    pub(in crate::coalescing) fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// The raw pointer of the shared descriptor, to which this holds one reference.
    pub(in crate::coalescing) fn shared_fd(&self) -> *const OwnedFd {
        Arc::as_ptr(&self.fd)
    }

    /// Whether the process has forked since: then locks that other threads had are locked for ever.
    pub(in crate::coalescing) fn is_of_parent(&self) -> bool {
        self.generation.is_past()
    }

    /// End our side of the stream, if it is ours alone.
    pub(in crate::coalescing) fn end_stream(&self) {
        if !self.is_inherited {
            // It fails only if the connection is over: then nothing is left to end.
            let _is_over = shutdown(&self.fd, Shutdown::Write);
        }
    }

    /// End the connection both ways, if it is ours alone.
    pub(in crate::coalescing) fn end_both_ways(&self) {
        if !self.is_inherited {
            // The kernel still sends the bytes that it took before.
            let _is_over = shutdown(&self.fd, Shutdown::Both);
        }
    }
}
