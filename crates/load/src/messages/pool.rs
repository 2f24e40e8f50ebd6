use super::interleaving::Interleaving;
use crate::generator::Generator;
use thiserror::Error;

/// The largest message, in bytes (1 GiB).
pub const MAX_MESSAGE_BYTES: u64 = 1 << 30;
/// The most producers that one stream may have.
pub const MAX_PRODUCERS: u64 = 256;
const POOL_MESSAGES: u64 = 16_384;
const POOL_BYTES: u64 = 64 << 20;

/// Why a message pool cannot be made.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PoolError {
    /// The sizes do not describe a range of allowed sizes.
    #[error("message sizes {min}..{max} are not a range within 1..{MAX_MESSAGE_BYTES} bytes")]
    Sizes {
        /// The smallest size asked for, in bytes.
        min: u64,
        /// The largest size asked for, in bytes.
        max: u64,
    },
    /// A first byte cannot tell so many producers, or the pool has no message for each.
    #[error("{producers} producers are not within 1..{most} for these message sizes")]
    Producers {
        /// How many were asked for.
        producers: u64,
        /// How many there may be.
        most: u64,
    },
}

/// The messages of every stream: seeded sizes and seeded bytes, repeated without end.
///
/// There are 16,384 of them, fewer (at least two) where that many would exceed 64 MiB. Both sides
/// make the pool from the same seed, so the receiver knows each byte without being told.
#[derive(Clone, Debug)]
pub struct MessagePool {
    bytes: Vec<u8>,
    /// Where each message ends in `bytes`.
    ends: Vec<u64>,
    producers: u64,
}

impl MessagePool {
    /// Make the pool for sizes uniform from `min` to `max` bytes, both included.
    ///
    /// # Errors
    /// [`PoolError::Sizes`] unless 1 ≤ min ≤ max ≤ 1 GiB.
    pub fn generate(seed: u64, min: u64, max: u64) -> Result<Self, PoolError> {
        if min == 0 || min > max || max > MAX_MESSAGE_BYTES {
            return Err(PoolError::Sizes { min, max });
        }
        let mut generator = Generator::new(seed);
        let count = (POOL_BYTES / max).clamp(2, POOL_MESSAGES);
        let mut ends = Vec::with_capacity(count as usize);
        let mut total = 0;
        for _ in 0..count {
            total += generator.between(min, max);
            ends.push(total);
        }
        let mut bytes = vec![0; total as usize];
        generator.fill(&mut bytes);
        Ok(Self {
            bytes,
            ends,
            producers: 1,
        })
    }

    /// The same messages as those of several producers: message `index` is that of producer
    /// `index` modulo their number, and its first byte says so, unless there is only one.
    ///
    /// # Errors
    /// [`PoolError::Producers`], when there are more than 256 or than messages.
    pub fn shared_by(mut self, producers: u64) -> Result<Self, PoolError> {
        let most = self.message_count().min(MAX_PRODUCERS);
        if !(1..=most).contains(&producers) {
            return Err(PoolError::Producers { producers, most });
        }
        self.producers = producers;
        if producers == 1 {
            return Ok(self);
        }
        // A message then belongs to the same producer at each turn of the pool.
        let count = self.message_count() / producers * producers;
        self.ends.truncate(count as usize);
        self.bytes.truncate(self.ends[count as usize - 1] as usize);
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        for (index, start) in (0..count).zip(starts) {
            self.bytes[start as usize] = (index % producers) as u8;
        }
        Ok(self)
    }

    /// How many producers have these messages to send.
    pub fn producers(&self) -> u64 {
        self.producers
    }

    /// How many different messages there are.
    pub fn message_count(&self) -> u64 {
        self.ends.len() as u64
    }

    /// The bytes of all messages, one after the other: one turn of the stream.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many messages of the stream are whole in its first `bytes` bytes.
    pub fn whole_messages(&self, bytes: u64) -> u64 {
        let turn_bytes = self.bytes.len() as u64;
        let within = self.ends.partition_point(|&end| end <= bytes % turn_bytes);
        bytes / turn_bytes * self.message_count() + within as u64
    }

    /// Message `index` of the stream (0, 1, 2 … without end).
    pub fn message(&self, index: u64) -> &[u8] {
        let slot = (index % self.message_count()) as usize;
        let start = if slot == 0 { 0 } else { self.ends[slot - 1] };
        &self.bytes[start as usize..self.ends[slot] as usize]
    }

    /// The bytes of the stream's first `count` messages, which is where message `count` starts.
    pub fn stream_bytes(&self, count: u64) -> u64 {
        let turns = count / self.message_count();
        let rest = (count % self.message_count()) as usize;
        let within = if rest == 0 { 0 } else { self.ends[rest - 1] };
        turns * self.bytes.len() as u64 + within
    }
}

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
    /// `received` modulo the pool's bytes, kept apart: a division per read is saved.
    position: usize,
    /// Where several producers write to the stream.
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
            let turn = &self.pool.bytes[self.position..];
            let (now, later) = rest.split_at(rest.len().min(turn.len()));
            if *now != turn[..now.len()] {
                let within = now.iter().zip(turn).take_while(|(a, b)| a == b).count();
                let offset = self.received + within as u64;
                return Err(StreamError::Differs { offset });
            }
            self.received += now.len() as u64;
            self.position = (self.position + now.len()) % self.pool.bytes.len();
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

    /// How many bytes of the message that is arriving have not.
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

    #[test]
    fn sizes_outside_the_range_are_refused() {
        for (min, max) in [(0, 5), (6, 5), (1, MAX_MESSAGE_BYTES + 1)] {
            assert_eq!(
                MessagePool::generate(1, min, max).unwrap_err(),
                PoolError::Sizes { min, max }
            );
        }
    }

    #[test]
    fn seeds_give_different_bytes_and_the_same_seed_the_same() {
        let pool = |seed| MessagePool::generate(seed, 1, 500).unwrap();
        assert_eq!(pool(1).bytes(), pool(1).bytes());
        assert_ne!(pool(1).bytes(), pool(2).bytes());
        assert_eq!(pool(1).message_count(), 16_384);
    }

    #[test]
    fn large_messages_share_a_bounded_pool() {
        let pool = MessagePool::generate(1, 40 << 20, 40 << 20).unwrap();
        assert_eq!(pool.message_count(), 2);
        assert_ne!(pool.message(0), pool.message(1));
    }

    proptest! {
        #[test]
        fn stream_bytes_is_the_sum_of_the_messages(seed: u64, min in 1u64..40, more in 0u64..100, count in 0u64..40_000) {
            let pool = MessagePool::generate(seed, min, min + more).unwrap();
            let summed: u64 = (0..count).map(|i| pool.message(i).len() as u64).sum();
            prop_assert_eq!(pool.stream_bytes(count), summed);
        }

        #[test]
        fn whole_messages_are_those_that_have_ended(seed: u64, min in 1u64..40, more in 0u64..100, bytes in 0u64..4_000_000) {
            let pool = MessagePool::generate(seed, min, min + more).unwrap();
            let whole = pool.whole_messages(bytes);
            prop_assert!(pool.stream_bytes(whole) <= bytes);
            prop_assert!(pool.stream_bytes(whole + 1) > bytes);
        }

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
