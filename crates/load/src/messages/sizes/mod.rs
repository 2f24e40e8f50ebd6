//! The wire protocol of `sizes`, both ends of it, without I/O.
//!
//! A connection carries one sample. The client begins with a setup, two big-endian u32: the length
//! of a message in bytes, and how many there are. So many times it then sends `length` bytes, and
//! the server answers with four: the length, big-endian. Nothing else passes.
//!
//! Law: how many bytes are wanted next is known before they are read, so that a reader needs no more
//! memory than it has, whatever the peer says.

mod acknowledgements;
mod error;
mod exchange;
#[cfg(test)]
mod tests;

pub use acknowledgements::Acknowledgements;
pub use error::WireError;
pub use exchange::{Event, Exchange};

use crate::generator::Generator;

/// A setup on the wire, in bytes.
pub const SETUP_BYTES: usize = 8;
/// An acknowledgement on the wire, in bytes.
pub const ACKNOWLEDGEMENT_BYTES: usize = 4;

/// What a client asks for: `count` round trips of a message of `length` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// A message, in bytes.
    pub length: u32,
    /// How many messages, each awaited by an acknowledgement: the round trips.
    pub count: u32,
}

impl Setup {
    /// The setup's form on the wire.
    pub fn to_bytes(self) -> [u8; SETUP_BYTES] {
        let mut bytes = [0; SETUP_BYTES];
        bytes[..4].copy_from_slice(&self.length.to_be_bytes());
        bytes[4..].copy_from_slice(&self.count.to_be_bytes());
        bytes
    }

    /// The setup of this form on the wire.
    pub fn from_bytes(bytes: [u8; SETUP_BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h] = bytes;
        Self {
            length: u32::from_be_bytes([a, b, c, d]),
            count: u32::from_be_bytes([e, f, g, h]),
        }
    }

    /// All messages together, in bytes.
    pub fn sample_bytes(self) -> u64 {
        u64::from(self.length) * u64::from(self.count)
    }
}

/// The limits of the setups that a server accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message, in bytes.
    pub max_length: u32,
    /// The most messages of a connection.
    pub max_count: u32,
}

impl Limits {
    fn checked(self, setup: Setup) -> Result<Setup, WireError> {
        let Setup { length, count } = setup;
        if length == 0 || length > self.max_length {
            let max = self.max_length;
            return Err(WireError::Length { length, max });
        }
        if count > self.max_count {
            let max = self.max_count;
            return Err(WireError::Count { count, max });
        }
        Ok(setup)
    }
}

/// The bytes of a sample's messages, one after the other. Those of a shorter sample are the first of a
/// longer one's, so that they are made once for samples of every size.
pub fn sample_content(seed: u64, bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    Generator::new(seed).fill(&mut content);
    content
}
