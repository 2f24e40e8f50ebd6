//! A request to the kernel, as bytes (linux/netlink.h): a message and its attributes. No I/O.

use super::wire::ATTRIBUTE_HEADER_BYTES;

const NLM_F_REQUEST: u16 = 1;
/// Ask for all objects.
pub const NLM_F_DUMP: u16 = 0x300;

/// A message that grows.
#[derive(Debug)]
pub struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A message that has only its header; `flags` are NLM_F_….
    pub fn new(kind: u16, flags: u16, sequence: u32) -> Self {
        let mut bytes = vec![0; 4]; // The length, which is set when it is known.
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend([0; 4]); // To the kernel.
        Self { bytes }
    }

    /// Append these bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Append an attribute, padded to whole words.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) {
        let length = (ATTRIBUTE_HEADER_BYTES + value.len()) as u16;
        self.push(&length.to_ne_bytes());
        self.push(&kind.to_ne_bytes());
        self.push(value);
        let padded = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(padded, 0);
    }

    /// The bytes to send.
    pub fn finished(mut self) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes
    }
}
