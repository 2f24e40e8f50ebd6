//! What encrypts a worker's connection, where something does.

use std::{fmt::Debug, io, os::fd::RawFd};

/// Sends and receives plaintext on a connection that does not block.
pub trait Cipher: Debug + Send + Sync {
    /// Send what the connection takes now; 0: nothing. What was not taken is offered again.
    ///
    /// # Errors
    /// When the connection fails.
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Read plaintext once, of one record at most; 0: the peer has ended, `None`: nothing has come.
    ///
    /// # Errors
    /// When the connection fails.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>>;
}

/// Encrypts the connection of a descriptor, which stays its owner's: makes the handshake.
pub type Encrypt<'a> = &'a dyn Fn(RawFd) -> io::Result<Box<dyn Cipher>>;
