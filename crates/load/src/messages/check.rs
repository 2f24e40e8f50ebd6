//! The check of a stream: every byte is compared as it arrives.

use super::{MessagePool, interleaving::Interleaving};
use thiserror::Error;

/// Where a received stream differs from what was sent.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum StreamError {
    /// A byte is not the one that was sent.
    #[error("byte {offset} of the stream is not the one that was sent")]
    Differs {
        /// Offset of the first wrong byte.
        offset: u64,
    },
    /// More arrived than was sent.
    #[error("more than the {expected} bytes of the stream arrived")]
    TooLong {
        /// The bytes that were sent.
        expected: u64,
    },
    /// The stream ended early.
    #[error("only {received} of the {expected} bytes of the stream arrived")]
    TooShort {
        /// The bytes that arrived.
        received: u64,
        /// The bytes that were sent.
        expected: u64,
    },
}

/// Compares a stream, as it arrives, with the pool that it was made from.
#[derive(Clone, Debug)]
pub struct StreamCheck {
    pool: MessagePool,
    expected: u64,
    received: u64,
    /// `received` modulo the pool's bytes, kept to save a division per read.
    position: usize,
    /// The order of messages, if several producers write to the stream.
    interleaving: Option<Interleaving>,
    may_end_early: bool,
}

impl StreamCheck {
    /// Expect the stream's first `messages` messages and then its end.
    pub fn new(pool: MessagePool, messages: u64) -> Self {
        let expected = pool.stream_bytes(messages);
        let producers = pool.producers();
        Self {
            interleaving: (producers > 1).then(|| Interleaving::new(producers, messages)),
            pool,
            expected,
            received: 0,
            position: 0,
            may_end_early: false,
        }
    }

    /// The same, of a stream that may end after any of its messages.
    #[must_use]
    pub fn ending_early(mut self) -> Self {
        self.may_end_early = true;
        self
    }

    /// Whether the stream may end after any of its messages.
    pub fn may_end_early(&self) -> bool {
        self.may_end_early
    }

    /// The bytes of the whole stream.
    pub fn expected_bytes(&self) -> u64 {
        self.expected
    }

    /// The bytes of the stream's first `count` messages.
    pub fn stream_bytes(&self, count: u64) -> u64 {
        self.pool.stream_bytes(count)
    }

    /// The bytes that arrived so far.
    pub fn received_bytes(&self) -> u64 {
        self.received
    }

    /// Compare the next bytes.
    ///
    /// # Errors
    /// [`StreamError::Differs`] with the offset of the first wrong byte, or
    /// [`StreamError::TooLong`].
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), StreamError> {
        if self.received + chunk.len() as u64 > self.expected {
            return Err(StreamError::TooLong {
                expected: self.expected,
            });
        }
        if let Some(interleaving) = &mut self.interleaving {
            interleaving.push(&self.pool, chunk, self.received)?;
            self.received += chunk.len() as u64;
            return Ok(());
        }
        let mut rest = chunk;
        while !rest.is_empty() {
            let turn = &self.pool.bytes()[self.position..];
            let (now, later) = rest.split_at(rest.len().min(turn.len()));
            if *now != turn[..now.len()] {
                let within = now.iter().zip(turn).take_while(|(a, b)| a == b).count();
                let offset = self.received + within as u64;
                return Err(StreamError::Differs { offset });
            }
            self.received += now.len() as u64;
            self.position = (self.position + now.len()) % self.pool.bytes().len();
            rest = later;
        }
        Ok(())
    }

    /// Whose each message was, in the order in which they came; empty for a stream of one
    /// producer.
    pub fn turns(&self) -> &[u8] {
        self.interleaving.as_ref().map_or(&[], Interleaving::turns)
    }

    /// Count the next bytes without comparing them: only for measuring what comparing costs.
    ///
    /// # Errors
    /// [`StreamError::TooLong`].
    pub fn skip(&mut self, count: usize) -> Result<(), StreamError> {
        if self.received + count as u64 > self.expected {
            return Err(StreamError::TooLong {
                expected: self.expected,
            });
        }
        self.received += count as u64;
        Ok(())
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// [`StreamError::TooShort`] unless every byte arrived; where the stream may end early, unless
    /// its last message is whole.
    pub fn finish(&self) -> Result<(), StreamError> {
        let expected = if self.may_end_early {
            self.received + self.missing_bytes()
        } else {
            self.expected
        };
        if self.received < expected {
            return Err(StreamError::TooShort {
                received: self.received,
                expected,
            });
        }
        Ok(())
    }

    /// How many bytes of the message that is arriving have not come.
    fn missing_bytes(&self) -> u64 {
        match &self.interleaving {
            Some(interleaving) => interleaving.missing_bytes(&self.pool),
            None => {
                let whole = self.pool.whole_messages(self.received);
                match self.received - self.pool.stream_bytes(whole) {
                    0 => 0,
                    begun => self.pool.message(whole).len() as u64 - begun,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(pool: &MessagePool, messages: u64) -> Vec<u8> {
        (0..messages)
            .flat_map(|i| pool.message(i).to_vec())
            .collect()
    }

    proptest! {
        #[test]
        fn a_stream_that_may_end_early_ends_with_a_whole_message(
            seed: u64, messages in 0u64..300, producers in 1u64..3, missing in 0usize..3
        ) {
            let pool = MessagePool::generate(seed, 4, 9).unwrap().shared_by(producers).unwrap();
            let bytes = stream(&pool, messages);
            let mut check = StreamCheck::new(pool, 300).ending_early();
            let missing = missing.min(bytes.len());
            prop_assert_eq!(check.push(&bytes[..bytes.len() - missing]), Ok(()));
            let expected = bytes.len() as u64;
            let finished = if missing == 0 {
                Ok(())
            } else {
                Err(StreamError::TooShort { received: expected - missing as u64, expected })
            };
            prop_assert_eq!(check.finish(), finished);
        }

        #[test]
        fn a_whole_stream_passes_however_it_is_cut(seed: u64, cuts in proptest::collection::vec(1usize..90, 1..40)) {
            let pool = MessagePool::generate(seed, 1, 9).unwrap();
            let bytes = stream(&pool, 200);
            let mut check = StreamCheck::new(pool, 200);
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                prop_assert_eq!(check.push(now), Ok(()));
                rest = later;
            }
            prop_assert_eq!(check.finish(), Ok(()));
        }

        #[test]
        fn one_byte_dropped_duplicated_altered_or_swapped_is_caught(seed: u64, at in 0usize..3_999, fault in 0u8..4) {
            let pool = MessagePool::generate(seed, 20, 20).unwrap();
            let mut bytes = stream(&pool, 200);
            match fault {
                0 => { bytes.remove(at); }
                1 => bytes.insert(at, bytes[at]),
                2 => bytes[at] ^= 1,
                _ => {
                    prop_assume!(bytes[at] != bytes[at + 1]);
                    bytes.swap(at, at + 1);
                }
            }
            let mut check = StreamCheck::new(pool, 200);
            let outcome = check.push(&bytes).and_then(|()| check.finish());
            prop_assert!(outcome.is_err());
            if fault >= 2 {
                prop_assert_eq!(outcome, Err(StreamError::Differs { offset: at as u64 }));
            }
        }
    }

    #[test]
    fn a_stream_longer_than_a_turn_of_the_pool_is_compared_to_its_end() {
        let pool = MessagePool::generate(3, 1 << 20, 1 << 20).unwrap();
        let count = pool.message_count() + 1;
        let mut bytes = stream(&pool, count);
        let last = bytes.len() - 1;
        let mut check = StreamCheck::new(pool.clone(), count);
        assert_eq!(check.push(&bytes), Ok(()));
        assert_eq!(check.finish(), Ok(()));
        bytes[last] ^= 0x80;
        let mut check = StreamCheck::new(pool, count);
        assert_eq!(
            check.push(&bytes),
            Err(StreamError::Differs {
                offset: last as u64
            })
        );
    }
}
