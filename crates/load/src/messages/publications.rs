//! The publications that a publisher sends to all subscribers, and the check of every byte at each.

use crate::generator::Generator;
use thiserror::Error;

/// The bytes in front of each publication: its number, and when it was due (both little-endian).
pub const HEADER_BYTES: usize = 16;
const TABLE_BYTES: usize = 4096;

/// The publications of a run: all of one size, each with content of its own.
#[derive(Clone, Debug)]
pub struct Publications {
    bytes: usize,
    /// Random bytes: the body of publication n begins at n modulo [`TABLE_BYTES`].
    table: Vec<u8>,
}

/// The bytes that a subscriber has got are not those that were published.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PublicationError {
    /// A publication is missing, comes twice, or its number was damaged.
    #[error("publication {found} came where {expected} was next")]
    Number {
        /// The number that was next.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// A byte of the body is wrong.
    #[error("publication {number}: a byte is not the one that was sent")]
    Byte {
        /// Which publication.
        number: u64,
    },
}

impl Publications {
    /// Publications of `bytes` bytes; `None` where that is less than [`HEADER_BYTES`].
    pub fn new(seed: u64, bytes: usize) -> Option<Self> {
        let body_bytes = bytes.checked_sub(HEADER_BYTES)?;
        let mut table = vec![0; TABLE_BYTES + body_bytes];
        Generator::new(seed).fill(&mut table);
        Some(Self { bytes, table })
    }

    /// Publication `number`, which is due at `due_ns` (CLOCK_MONOTONIC).
    pub fn message(&self, number: u64, due_ns: u64) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.bytes);
        message.extend(number.to_le_bytes());
        message.extend(due_ns.to_le_bytes());
        message.extend(self.body(number));
        message
    }

    fn body(&self, number: u64) -> &[u8] {
        let begin = (number % TABLE_BYTES as u64) as usize;
        &self.table[begin..][..self.bytes - HEADER_BYTES]
    }
}

/// How far one subscriber is in the publications.
#[derive(Clone, Debug, Default)]
pub struct Follower {
    next: u64,
    /// How many bytes of publication `next` have come.
    at: usize,
    header: [u8; HEADER_BYTES],
}

impl Follower {
    /// How many publications have come whole.
    pub fn received(&self) -> u64 {
        self.next
    }

    /// Whether a publication has come in part.
    pub fn is_amidst(&self) -> bool {
        self.at > 0
    }

    /// Compare the next bytes; `on_whole` gets the number and the due time of each publication that they
    /// complete.
    ///
    /// # Errors
    /// [`PublicationError`], at the first byte that is wrong.
    pub fn push(
        &mut self,
        mut chunk: &[u8],
        publications: &Publications,
        mut on_whole: impl FnMut(u64, u64),
    ) -> Result<(), PublicationError> {
        while !chunk.is_empty() {
            let taken = if self.at < HEADER_BYTES {
                let taken = chunk.len().min(HEADER_BYTES - self.at);
                self.header[self.at..][..taken].copy_from_slice(&chunk[..taken]);
                if self.at + taken == HEADER_BYTES && self.number() != self.next {
                    return Err(PublicationError::Number {
                        expected: self.next,
                        found: self.number(),
                    });
                }
                taken
            } else {
                let taken = chunk.len().min(publications.bytes - self.at);
                let body = publications.body(self.next);
                if body[self.at - HEADER_BYTES..][..taken] != chunk[..taken] {
                    return Err(PublicationError::Byte { number: self.next });
                }
                taken
            };
            self.at += taken;
            chunk = &chunk[taken..];
            if self.at == publications.bytes {
                on_whole(self.next, self.word(8));
                self.next += 1;
                self.at = 0;
            }
        }
        Ok(())
    }

    fn number(&self) -> u64 {
        self.word(0)
    }

    fn word(&self, begin: usize) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&self.header[begin..begin + 8]);
        u64::from_le_bytes(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_publication_has_room_for_its_header() {
        assert!(Publications::new(1, HEADER_BYTES - 1).is_none());
        let shortest = Publications::new(1, HEADER_BYTES).unwrap();
        assert_eq!(shortest.message(7, 9).len(), HEADER_BYTES);
    }

    #[test]
    fn one_that_is_missing_or_repeated_is_told() {
        let publications = Publications::new(1, 40).unwrap();
        for (second, found) in [(2, 2), (0, 0)] {
            let mut follower = Follower::default();
            let mut stream = publications.message(0, 5);
            stream.extend(publications.message(second, 6));
            let fault = follower.push(&stream, &publications, |_, _| ());
            assert_eq!(fault, Err(PublicationError::Number { expected: 1, found }));
        }
    }

    proptest! {
        #[test]
        fn whole_ones_are_told_however_they_are_cut(
            cuts in proptest::collection::vec(1usize..90, 1..60), bytes in 16usize..80,
        ) {
            let publications = Publications::new(3, bytes).unwrap();
            let mut follower = Follower::default();
            let stream: Vec<u8> = (0..200).flat_map(|n| publications.message(n, n + 7)).collect();
            let mut told = Vec::new();
            let mut rest = &stream[..];
            for cut in cuts {
                let (chunk, later) = rest.split_at(cut.min(rest.len()));
                follower.push(chunk, &publications, |n, due| told.push((n, due))).unwrap();
                rest = later;
            }
            let whole = (stream.len() - rest.len()) / bytes;
            prop_assert_eq!(follower.received(), whole as u64);
            prop_assert_eq!(follower.is_amidst(), (stream.len() - rest.len()) % bytes > 0);
            prop_assert_eq!(told, (0..whole as u64).map(|n| (n, n + 7)).collect::<Vec<_>>());
        }

        #[test]
        fn a_byte_that_is_another_one_is_found(at in 0usize..120, flipped in 1u8..=255) {
            let publications = Publications::new(3, 60).unwrap();
            let mut stream: Vec<u8> = (0..2).flat_map(|n| publications.message(n, 0)).collect();
            stream[at] ^= flipped;
            let mut told = Vec::new();
            let outcome =
                Follower::default().push(&stream, &publications, |_, due| told.push(due));
            // The due time is compared with that of the other subscribers (tally.rs).
            let is_due_time = (8..16).contains(&(at % 60));
            prop_assert_eq!(outcome.is_ok(), is_due_time);
            prop_assert!(!is_due_time || told.iter().any(|due| *due != 0));
        }
    }
}
