//! Requests and replies: the bytes that both ends of `rr` expect.
//!
//! A connection's requests are 0, 1, 2 … of a seeded pool, again and again. Byte j of the reply to a
//! connection's request i is (i + j) modulo 251: a server needs no memory of the requests, however many
//! replies it owes, and a reply that is lost, repeated or of another request is found.

use crate::generator::Generator;
use thiserror::Error;

/// The largest request, and the largest reply, in bytes (16 MiB).
pub const MAX_CALL_BYTES: u64 = 16 << 20;
const POOL_BYTES: u64 = 1 << 20;
const POOL_REQUESTS: u64 = 256;
/// A prime, so that no shift by a power of two goes unseen.
const CYCLE: usize = 251;
const PART_BYTES: usize = 4096;

static PATTERN: [u8; CYCLE + PART_BYTES] = pattern();

const fn pattern() -> [u8; CYCLE + PART_BYTES] {
    let mut bytes = [0; CYCLE + PART_BYTES];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = (at % CYCLE) as u8;
        at += 1;
    }
    bytes
}

/// The content cannot be made, or a byte of it is wrong.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ContentError {
    /// Not a size that a request or a reply may have.
    #[error("a {what} of {bytes} bytes is not within 1..{MAX_CALL_BYTES}")]
    Size {
        /// `request` or `reply`.
        what: &'static str,
        /// The size asked for.
        bytes: u64,
    },
    /// A byte of a request is not the one that was sent.
    #[error("byte {offset} of a connection's requests is not the one that was sent")]
    Differs {
        /// Counted from the connection's first request.
        offset: u64,
    },
}

/// The bytes of every request and of every reply.
#[derive(Clone, Debug)]
pub struct CallContent {
    request_bytes: u64,
    reply_bytes: u64,
    /// One request after the other; empty where any bytes will do.
    requests: Vec<u8>,
    has_any_replies: bool,
}

impl CallContent {
    /// Requests from a seed: 256 different ones, fewer (at least two) where they would exceed 1 MiB.
    ///
    /// # Errors
    /// [`ContentError::Size`] unless both sizes are 1 byte to 16 MiB.
    pub fn generate(seed: u64, request_bytes: u64, reply_bytes: u64) -> Result<Self, ContentError> {
        let mut content = Self::of_any_bytes(request_bytes, reply_bytes)?;
        let count = (POOL_BYTES / request_bytes).clamp(2, POOL_REQUESTS);
        content.requests = vec![0; (count * request_bytes) as usize];
        Generator::new(seed).fill(&mut content.requests);
        Ok(content)
    }

    /// The content for a server that was not told the seed: any bytes are a request.
    ///
    /// # Errors
    /// Those of [`CallContent::generate`].
    pub fn of_any_bytes(request_bytes: u64, reply_bytes: u64) -> Result<Self, ContentError> {
        for (what, bytes) in [("request", request_bytes), ("reply", reply_bytes)] {
            if !(1..=MAX_CALL_BYTES).contains(&bytes) {
                return Err(ContentError::Size { what, bytes });
            }
        }
        Ok(Self {
            request_bytes,
            reply_bytes,
            requests: Vec::new(),
            has_any_replies: false,
        })
    }

    /// The same, but any bytes are a reply: for a program with a protocol of its own.
    #[must_use]
    pub fn with_any_replies(self) -> Self {
        Self {
            has_any_replies: true,
            ..self
        }
    }

    /// The bytes of one request.
    pub fn request_bytes(&self) -> u64 {
        self.request_bytes
    }

    /// The bytes of one reply.
    pub fn reply_bytes(&self) -> u64 {
        self.reply_bytes
    }

    /// How many different requests there are; 0 where any bytes will do.
    pub fn request_count(&self) -> u64 {
        self.requests.len() as u64 / self.request_bytes
    }

    /// Request `index` of a connection (0, 1, 2 … without end); empty where any bytes will do.
    pub fn request(&self, index: u64) -> &[u8] {
        if self.requests.is_empty() {
            return &[];
        }
        let start = (index % self.request_count() * self.request_bytes) as usize;
        &self.requests[start..start + self.request_bytes as usize]
    }

    /// What comes at byte `offset` of a connection's replies: at least one byte, and none beyond
    /// the end of that reply.
    pub fn reply_part(&self, offset: u64) -> &'static [u8] {
        let (index, within) = (offset / self.reply_bytes, offset % self.reply_bytes);
        let start = ((index + within) % CYCLE as u64) as usize;
        let length = (self.reply_bytes - within).min(PART_BYTES as u64) as usize;
        &PATTERN[start..start + length]
    }

    /// Fill `target` with what comes from byte `offset` of a connection's replies on.
    pub fn fill_replies(&self, mut offset: u64, target: &mut [u8]) {
        let mut rest = target;
        while !rest.is_empty() {
            let part = self.reply_part(offset);
            let (now, later) = rest.split_at_mut(part.len().min(rest.len()));
            now.copy_from_slice(&part[..now.len()]);
            offset += now.len() as u64;
            rest = later;
        }
    }

    /// Whether `bytes` are what comes from byte `offset` of a connection's replies on.
    pub fn is_reply(&self, offset: u64, bytes: &[u8]) -> bool {
        self.wrong_reply(offset, bytes).is_none()
    }

    /// `bytes` come at byte `offset` of a connection's replies. Returns the first reply of which a wrong
    /// byte is among them; none where any bytes will do.
    pub fn wrong_reply(&self, mut offset: u64, bytes: &[u8]) -> Option<u64> {
        if self.has_any_replies {
            return None;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let part = self.reply_part(offset);
            let (now, later) = rest.split_at(part.len().min(rest.len()));
            if *now != part[..now.len()] {
                return Some(offset / self.reply_bytes);
            }
            offset += now.len() as u64;
            rest = later;
        }
        None
    }
}

/// Counts one connection's requests as they come, and compares them where it knows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestReader {
    received: u64,
}

impl RequestReader {
    /// Take the connection's next bytes. Returns how many requests they complete.
    ///
    /// # Errors
    /// [`ContentError::Differs`] at the first byte that was not sent; nothing is then counted.
    pub fn push(&mut self, content: &CallContent, chunk: &[u8]) -> Result<u64, ContentError> {
        if !content.requests.is_empty() {
            self.compare(&content.requests, chunk)?;
        }
        let before = self.received / content.request_bytes;
        self.received += chunk.len() as u64;
        Ok(self.received / content.request_bytes - before)
    }

    /// Whether no request has come only in part.
    pub fn is_between_requests(&self, content: &CallContent) -> bool {
        self.received % content.request_bytes == 0
    }

    fn compare(&self, requests: &[u8], chunk: &[u8]) -> Result<(), ContentError> {
        let mut offset = self.received;
        let mut rest = chunk;
        while !rest.is_empty() {
            let turn = &requests[(offset % requests.len() as u64) as usize..];
            let (now, later) = rest.split_at(rest.len().min(turn.len()));
            if *now != turn[..now.len()] {
                let same = now.iter().zip(turn).take_while(|(a, b)| a == b).count();
                return Err(ContentError::Differs {
                    offset: offset + same as u64,
                });
            }
            offset += now.len() as u64;
            rest = later;
        }
        Ok(())
    }
}

/// Counts one connection's replies as they come, and compares them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplyReader {
    received: u64,
}

impl ReplyReader {
    /// Take the connection's next bytes. Returns how many replies they complete.
    ///
    /// # Errors
    /// The first reply of which a wrong byte is among them; nothing is then counted.
    pub fn push(&mut self, content: &CallContent, chunk: &[u8]) -> Result<u64, u64> {
        if let Some(index) = content.wrong_reply(self.received, chunk) {
            return Err(index);
        }
        let before = self.replies(content);
        self.received += chunk.len() as u64;
        Ok(self.replies(content) - before)
    }

    /// How many replies have come whole.
    pub fn replies(&self, content: &CallContent) -> u64 {
        self.received / content.reply_bytes
    }

    /// How many bytes of the next reply have come.
    pub fn partial_bytes(&self, content: &CallContent) -> u64 {
        self.received % content.reply_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn requests(content: &CallContent, count: u64) -> Vec<u8> {
        (0..count)
            .flat_map(|index| content.request(index).to_vec())
            .collect()
    }

    #[test]
    fn sizes_outside_the_range_are_refused_before_anything_is_allocated() {
        for bytes in [0, MAX_CALL_BYTES + 1, u64::MAX] {
            let request = CallContent::generate(1, bytes, 2).unwrap_err();
            let what = "request";
            assert_eq!(request, ContentError::Size { what, bytes });
            let reply = CallContent::of_any_bytes(1, bytes).unwrap_err();
            let what = "reply";
            assert_eq!(reply, ContentError::Size { what, bytes });
        }
    }

    #[test]
    fn the_reply_is_as_documented_for_other_programs() {
        let content = CallContent::of_any_bytes(10_010, 3).unwrap();
        let mut replies = [0; 6];
        content.fill_replies(0, &mut replies);
        assert_eq!(replies, [0, 1, 2, 1, 2, 3]);
        content.fill_replies(250 * 3, &mut replies);
        assert_eq!(replies, [250, 0, 1, 0, 1, 2]);
    }

    #[test]
    fn requests_differ_and_come_again_after_a_turn() {
        let content = CallContent::generate(7, 10_010, 2).unwrap();
        assert_eq!(content.request_count(), 104);
        assert_ne!(content.request(0), content.request(1));
        assert_eq!(content.request(0), content.request(104));
        let other = CallContent::generate(8, 10_010, 2).unwrap();
        assert_ne!(content.request(0), other.request(0));
        let large = CallContent::generate(7, MAX_CALL_BYTES, 2).unwrap();
        assert_eq!(large.request_count(), 2);
    }

    #[test]
    fn a_server_without_the_seed_takes_any_bytes() {
        let content = CallContent::of_any_bytes(4, 2).unwrap();
        let mut reader = RequestReader::default();
        assert_eq!(reader.push(&content, b"garbage"), Ok(1));
        assert!(!reader.is_between_requests(&content));
        assert_eq!(reader.push(&content, b"!"), Ok(1));
        assert!(reader.is_between_requests(&content));
        assert_eq!(content.request(0), b"");
    }

    #[test]
    fn any_bytes_are_a_reply_where_they_are_not_to_be_checked() {
        let content = CallContent::generate(1, 4, 3).unwrap();
        assert_eq!(content.wrong_reply(3, b"xxx"), Some(1));
        let content = content.with_any_replies();
        assert_eq!(content.wrong_reply(3, b"xxx"), None);
        assert!(content.is_reply(0, b"xxx"));
        assert_eq!(content.request_count(), 256);
    }

    proptest! {
        #[test]
        fn every_request_is_counted_however_the_wire_cuts_it(seed: u64, size in 1u64..50, count in 0u64..600, cuts in proptest::collection::vec(1usize..90, 1..30)) {
            let content = CallContent::generate(seed, size, 2).unwrap();
            let bytes = requests(&content, count);
            let mut reader = RequestReader::default();
            let (mut rest, mut completed) = (&bytes[..], 0);
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                completed += reader.push(&content, now).unwrap();
                rest = later;
            }
            prop_assert_eq!(completed, count);
            prop_assert!(reader.is_between_requests(&content));
        }

        #[test]
        fn one_altered_byte_is_found_where_it_is(seed: u64, size in 1u64..50, at in 0usize..49, flip in 1u8..=255) {
            let content = CallContent::generate(seed, size, 2).unwrap();
            let mut bytes = requests(&content, 49);
            bytes[at] ^= flip;
            let found = RequestReader::default().push(&content, &bytes);
            prop_assert_eq!(found, Err(ContentError::Differs { offset: at as u64 }));
        }

        #[test]
        fn replies_are_the_same_however_they_are_cut(size in 1u64..9_000, first in 0u64..600, cut in 1usize..9_000) {
            let content = CallContent::of_any_bytes(1, size).unwrap();
            let from = first * size;
            let mut whole = vec![0; 20_000];
            content.fill_replies(from, &mut whole);
            let (head, tail) = whole.split_at(cut);
            prop_assert!(content.is_reply(from, head));
            prop_assert!(content.is_reply(from + cut as u64, tail));
            for (at, byte) in whole.iter().enumerate() {
                let (index, within) = ((from + at as u64) / size, (from + at as u64) % size);
                prop_assert_eq!(u64::from(*byte), (index + within) % 251);
            }
            whole[cut] ^= 1;
            prop_assert!(!content.is_reply(from, &whole));
        }
    }
}
