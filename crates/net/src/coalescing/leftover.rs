//! The bytes that remain unsent when a socket has been dropped.

use super::connection::Connection;
use std::sync::{Arc, Weak};

/// The bytes that a [`CoalescingSocket`](super::CoalescingSocket) holds, also after it was dropped:
/// then the writing thread still writes them.
#[doc(hidden)] // For the Python module, where one connection has one sender at a time.
#[derive(Debug)]
pub struct Leftover(Weak<Connection>);

impl Leftover {
    pub(super) fn of(connection: &Arc<Connection>) -> Self {
        Self(Arc::downgrade(connection))
    }

    /// How many bytes the kernel has not taken yet; 0 for a parent process's connection.
    pub fn held_bytes(&self) -> usize {
        match self.0.upgrade() {
            Some(connection) if !connection.descriptor.is_of_parent() => connection.held_bytes(),
            _ => 0,
        }
    }
}
