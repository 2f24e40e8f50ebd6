//! What is still to be sent for a socket that is gone.

use super::connection::Connection;
use std::sync::{Arc, Weak};

/// What a [`CoalescingSocket`](super::CoalescingSocket) holds, for whoever asks when it is gone: the
/// writing thread still writes it.
#[doc(hidden)] // For the Python module, where one connection has one sender at a time.
#[derive(Debug)]
pub struct Leftover(Weak<Connection>);

impl Leftover {
    pub(super) fn of(connection: &Arc<Connection>) -> Self {
        Self(Arc::downgrade(connection))
    }

    /// How many bytes the kernel has not taken yet. What a parent process holds is none of ours.
    pub fn held_bytes(&self) -> usize {
        match self.0.upgrade() {
            Some(connection) if !connection.descriptor.is_of_parent() => connection.held_bytes(),
            _ => 0,
        }
    }
}
