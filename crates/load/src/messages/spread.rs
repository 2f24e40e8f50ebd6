use super::MessagePool;
use thiserror::Error;

/// The bytes that came on a connection of the stream differ from those that were sent on it.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SpreadError {
    /// A byte is not the one that was sent.
    #[error("connection {connection}: a byte of message {message} is not the one that was sent")]
    Differs {
        /// Which connection, from 0.
        connection: usize,
        /// Which message of the stream, from 0.
        message: u64,
    },
    /// More came than was sent.
    #[error("connection {connection}: more than its last message came")]
    TooLong {
        /// Which connection, from 0.
        connection: usize,
    },
    /// The connection ended early.
    #[error("connection {connection}: it ended before the end of message {message}")]
    TooShort {
        /// Which connection, from 0.
        connection: usize,
        /// The first message that did not come whole.
        message: u64,
    },
}

/// Compares a stream that comes on many connections: message i on connection i modulo their number
/// (see [`MessagePool::spread_over`]). Its order is the one in which messages came whole.
#[derive(Clone, Debug)]
pub struct Spread {
    pool: MessagePool,
    messages: u64,
    may_end_early: bool,
    /// The next message on each connection, and how many of its bytes have come.
    next: Vec<(u64, usize)>,
    turns: Vec<u8>,
    whole: u64,
    whole_bytes: u64,
}

impl Spread {
    /// Expect the stream's first `messages` messages; with `may_end_early` it may end after any of them.
    pub fn new(pool: MessagePool, messages: u64, may_end_early: bool) -> Self {
        Self {
            next: (0..pool.connections()).map(|first| (first, 0)).collect(),
            pool,
            messages,
            may_end_early,
            turns: Vec::new(),
            whole: 0,
            whole_bytes: 0,
        }
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.next.len()
    }

    /// The bytes of all messages that have come whole.
    pub fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    /// The bytes of the stream's first `count` messages.
    pub fn stream_bytes(&self, count: u64) -> u64 {
        self.pool.stream_bytes(count)
    }

    /// The connection of each message, in the order in which they came whole (`arrivals`).
    pub fn turns(&self) -> &[u8] {
        &self.turns
    }

    /// Compare the next bytes of a connection.
    ///
    /// # Errors
    /// [`SpreadError::Differs`] and [`SpreadError::TooLong`].
    pub fn push(&mut self, connection: usize, chunk: &[u8]) -> Result<(), SpreadError> {
        let (message, at) = &mut self.next[connection];
        let mut rest = chunk;
        while !rest.is_empty() {
            if *message >= self.messages {
                return Err(SpreadError::TooLong { connection });
            }
            let expected = &self.pool.message(*message)[*at..];
            let (now, later) = rest.split_at(rest.len().min(expected.len()));
            if *now != expected[..now.len()] {
                let message = *message;
                return Err(SpreadError::Differs {
                    connection,
                    message,
                });
            }
            *at += now.len();
            rest = later;
            if now.len() == expected.len() {
                self.whole += 1;
                self.whole_bytes += *at as u64;
                let turn = (connection as u64).to_le_bytes();
                self.turns.extend(&turn[..self.pool.turn_bytes()]);
                *message += self.pool.connections();
                *at = 0;
            }
        }
        Ok(())
    }

    /// All connections have ended.
    ///
    /// # Errors
    /// [`SpreadError::TooShort`] where a connection's last message is missing, or a part of it.
    pub fn finish(&self) -> Result<(), SpreadError> {
        let sent = if self.may_end_early {
            self.whole
        } else {
            self.messages
        };
        for (connection, &(message, at)) in self.next.iter().enumerate() {
            if message < sent || at > 0 {
                return Err(SpreadError::TooShort {
                    connection,
                    message,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::arrivals;
    use proptest::prelude::*;

    fn pool(connections: u64) -> MessagePool {
        let pool = MessagePool::generate(3, 1, 9).unwrap();
        pool.spread_over(connections)
    }

    proptest! {
        #[test]
        fn messages_pass_in_any_order_of_connections_however_they_are_cut(
            order in Just((0..200usize).map(|index| index % 5).collect::<Vec<_>>()).prop_shuffle(),
            cuts in proptest::collection::vec(1usize..30, 1..40),
        ) {
            let pool = pool(5);
            let streams: Vec<Vec<u8>> = (0..5).map(|first| {
                (first..200).step_by(5).flat_map(|index| pool.message(index).to_vec()).collect()
            }).collect();
            let mut spread = Spread::new(pool.clone(), 200, false);
            let mut at = [0; 5];
            let ends = (0..5).cycle().take(5_000);
            for (connection, cut) in order.into_iter().chain(ends).zip(cuts.iter().cycle()) {
                let rest = &streams[connection][at[connection]..];
                let taken = rest.len().min(*cut);
                prop_assert_eq!(spread.push(connection, &rest[..taken]), Ok(()));
                at[connection] += taken;
            }
            prop_assert_eq!(spread.finish(), Ok(()));
            prop_assert_eq!(spread.whole_bytes(), pool.stream_bytes(200));
            let (mut indices, ends): (Vec<u64>, Vec<u64>) = arrivals(&pool, spread.turns()).unzip();
            prop_assert_eq!(ends.last().copied(), Some(pool.stream_bytes(200)));
            indices.sort_unstable();
            prop_assert!(indices.into_iter().eq(0..200));
        }

        #[test]
        fn a_byte_that_is_another_one_is_told_with_its_connection(
            at in 0usize..20, flipped in 1u8..=255,
        ) {
            let pool = pool(3);
            let mut bytes: Vec<u8> =
                (1..200).step_by(3).flat_map(|index| pool.message(index).to_vec()).collect();
            bytes[at] ^= flipped;
            let mut spread = Spread::new(pool, 200, false);
            let told = spread.push(1, &bytes);
            let is_told = matches!(told, Err(SpreadError::Differs { connection: 1, .. }));
            prop_assert!(is_told);
        }
    }

    #[test]
    fn a_message_too_few_or_too_many_is_told() {
        let pool = pool(300);
        for may_end_early in [false, true] {
            let mut spread = Spread::new(pool.clone(), 302, may_end_early);
            for index in (0..302).filter(|index| *index != 299) {
                spread
                    .push((index % 300) as usize, pool.message(index))
                    .unwrap();
            }
            // Others have got what was sent after it.
            let told = Err(SpreadError::TooShort {
                connection: 299,
                message: 299,
            });
            assert_eq!(spread.finish(), told);
            spread.push(299, pool.message(299)).unwrap();
            assert_eq!(spread.finish(), Ok(()));
            assert_eq!(spread.turns().len(), 2 * 302);
            let told = spread.push(0, pool.message(600));
            assert_eq!(told, Err(SpreadError::TooLong { connection: 0 }));
        }
    }

    #[test]
    fn a_stream_may_end_after_any_message_but_not_within_one() {
        let pool = pool(2);
        let mut spread = Spread::new(pool.clone(), 1_000, true);
        spread.push(0, pool.message(0)).unwrap();
        assert_eq!(spread.finish(), Ok(()));
        let long = (1..)
            .step_by(2)
            .find(|index| pool.message(*index).len() > 1);
        let until = long.unwrap();
        for index in 1..until {
            spread
                .push((index % 2) as usize, pool.message(index))
                .unwrap();
        }
        spread.push(1, &pool.message(until)[..1]).unwrap();
        let told = Err(SpreadError::TooShort {
            connection: 1,
            message: until,
        });
        assert_eq!(spread.finish(), told);
    }
}
