//! The server's memory for received bytes: one buffer that all connections share, or, if the bytes are
//! to be compared, a buffer that holds a whole sample.

use crate::messages::{Setup, sample_content};
use std::os::fd::RawFd;
use thiserror::Error;

/// The most bytes read at once, if they are not kept.
const SHARED_BYTES: usize = 256 << 10;

/// A byte that is not the one that was sent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("byte {offset} of a sample is not the one that was sent")]
pub struct WrongByte {
    /// The offset of the first such byte, counted over all messages of the connection.
    pub offset: usize,
}

/// The server's memory; a peer cannot make it grow.
#[derive(Debug)]
pub struct Memory {
    shared: Vec<u8>,
    /// The bytes that every sample begins with; empty if nothing is compared.
    expected: Vec<u8>,
    kept: Vec<u8>,
    kept_bytes: usize,
    owner: Option<RawFd>,
}

impl Memory {
    /// Memory that is touched now; `compared`: the content's seed, and the bytes of the largest sample.
    pub fn new(compared: Option<(u64, usize)>) -> Self {
        let expected = compared.map_or_else(Vec::new, |(seed, bytes)| sample_content(seed, bytes));
        Self {
            // Not zero, so that the pages are touched now.
            shared: vec![1; SHARED_BYTES],
            kept: vec![1; expected.len()],
            expected,
            kept_bytes: 0,
            owner: None,
        }
    }

    /// A setup was accepted on `fd`: keep its messages, if there are any, unless another connection's are
    /// being kept.
    pub fn begin(&mut self, fd: RawFd, setup: Setup) {
        let is_kept = (1..=self.kept.len() as u64).contains(&setup.sample_bytes());
        if is_kept && self.owner.is_none() {
            self.owner = Some(fd);
            self.kept_bytes = 0;
        }
    }

    /// The buffer for the next bytes of `fd`: at least one byte, at most `wanted`.
    pub fn target(&mut self, fd: RawFd, wanted: usize) -> &mut [u8] {
        if self.owner == Some(fd) && self.kept_bytes < self.kept.len() {
            let end = self.kept.len().min(self.kept_bytes.saturating_add(wanted));
            &mut self.kept[self.kept_bytes..end]
        } else {
            &mut self.shared[..wanted.min(SHARED_BYTES)]
        }
    }

    /// Note that `count` bytes came into the target.
    pub fn filled(&mut self, fd: RawFd, count: usize) {
        if self.owner == Some(fd) {
            self.kept_bytes += count;
        }
    }

    /// The connection ended; false when its bytes were not kept.
    ///
    /// # Errors
    /// [`WrongByte`].
    pub fn compare(&mut self, fd: RawFd) -> Result<bool, WrongByte> {
        if self.owner != Some(fd) {
            return Ok(false);
        }
        self.owner = None;
        let (kept, expected) = (&self.kept[..self.kept_bytes], &self.expected);
        if *kept == expected[..kept.len()] {
            return Ok(true);
        }
        let offset = kept.iter().zip(expected).take_while(|(a, b)| a == b);
        Err(WrongByte {
            offset: offset.count(),
        })
    }

    /// The connection is gone, whatever it sent.
    pub fn forget(&mut self, fd: RawFd) {
        if self.owner == Some(fd) {
            self.owner = None;
        }
    }
}
