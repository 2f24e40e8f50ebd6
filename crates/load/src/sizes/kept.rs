//! Where what is received goes: into one buffer that all connections share, or, where the bytes are
//! to be compared, into a buffer that holds a whole sample.

use crate::messages::{Setup, sample_content};
use std::os::fd::RawFd;
use thiserror::Error;

/// Bytes read at once at most, where they are not kept.
const SHARED_BYTES: usize = 256 << 10;

/// A byte that is not the one that was sent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("byte {offset} of a sample is not the one that was sent")]
pub struct WrongByte {
    /// Where the first one is, counted over all messages of the connection.
    pub offset: usize,
}

/// The server's memory; none of it is made because of what a peer says.
#[derive(Debug)]
pub struct Memory {
    shared: Vec<u8>,
    /// What every sample begins with; empty where nothing is compared.
    expected: Vec<u8>,
    kept: Vec<u8>,
    kept_bytes: usize,
    owner: Option<RawFd>,
}

impl Memory {
    /// Memory that is touched now; `compared`: the content's seed, and of the largest sample the
    /// bytes.
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

    /// A setup was taken on `fd`: keep its messages, if there are any, unless another's are being kept.
    pub fn begin(&mut self, fd: RawFd, setup: Setup) {
        let is_kept = (1..=self.kept.len() as u64).contains(&setup.sample_bytes());
        if is_kept && self.owner.is_none() {
            self.owner = Some(fd);
            self.kept_bytes = 0;
        }
    }

    /// Where the next bytes of `fd` go: at least one, at most `wanted`.
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
