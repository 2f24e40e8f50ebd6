use crate::generator::Generator;
use thiserror::Error;

/// The largest message, in bytes (1 GiB).
pub const MAX_MESSAGE_BYTES: u64 = 1 << 30;
/// The most producers that one stream may have.
pub const MAX_PRODUCERS: u64 = 256;
const MAX_CONNECTIONS: u64 = 1 << 16;
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
    /// A first byte cannot distinguish so many producers, or the pool has no message for each.
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
    connections: u64,
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
            connections: 1,
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

    /// The same messages on so many connections, 65,536 at most: message `index` goes over connection
    /// `index` modulo their number.
    #[must_use]
    pub fn spread_over(mut self, connections: u64) -> Self {
        self.connections = connections.clamp(1, MAX_CONNECTIONS);
        self
    }

    /// How many connections they go over.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// How many producers, or connections, have the messages in turn.
    pub(crate) fn lanes(&self) -> u64 {
        self.producers.max(self.connections)
    }

    /// How many bytes say whose a message was.
    pub(crate) fn turn_bytes(&self) -> usize {
        if self.lanes() <= 256 { 1 } else { 2 }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    }
}
