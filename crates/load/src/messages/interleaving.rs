use super::{MessagePool, StreamError};

/// The most turns for which memory is made ready; a stream of more messages grows it while it runs.
const MAX_READY_TURNS: u64 = 8 << 20;

/// Follows a stream that several producers write to, message by message: the first byte of each says
/// whose it is (see [`MessagePool::shared_by`]), and each producer's messages are in order.
#[derive(Clone, Debug)]
pub(crate) struct Interleaving {
    messages: u64,
    /// The next message of each producer.
    next: Vec<u64>,
    /// The message that is arriving, and how many of its bytes have come.
    current: u64,
    at: usize,
    /// Whose each message was, in the order in which they came.
    turns: Vec<u8>,
}

impl Interleaving {
    pub(crate) fn new(producers: u64, messages: u64) -> Self {
        // Not zero, so that the pages are touched now.
        let mut turns = vec![1; messages.min(MAX_READY_TURNS) as usize];
        turns.clear();
        Self {
            messages,
            next: (0..producers).collect(),
            current: 0,
            at: 0,
            turns,
        }
    }

    pub(crate) fn turns(&self) -> &[u8] {
        &self.turns
    }

    /// How many bytes of the message that is arriving have not come.
    pub(crate) fn missing_bytes(&self, pool: &MessagePool) -> u64 {
        match self.at {
            0 => 0,
            begun => (pool.message(self.current).len() - begun) as u64,
        }
    }

    /// Compare the next bytes, which start at `offset` of the stream.
    pub(crate) fn push(
        &mut self,
        pool: &MessagePool,
        chunk: &[u8],
        offset: u64,
    ) -> Result<(), StreamError> {
        let mut rest = chunk;
        let differs = |rest: &[u8], within: usize| StreamError::Differs {
            offset: offset + (chunk.len() - rest.len() + within) as u64,
        };
        while let Some(&first) = rest.first() {
            if self.at == 0 {
                let messages = self.messages;
                let next = self.next.get_mut(usize::from(first));
                let next = next.filter(|next| **next < messages);
                let next = next.ok_or_else(|| differs(rest, 0))?;
                self.current = *next;
                *next += pool.producers();
                self.turns.push(first);
            }
            let message = &pool.message(self.current)[self.at..];
            let (now, later) = rest.split_at(rest.len().min(message.len()));
            if *now != message[..now.len()] {
                let within = now.iter().zip(message).take_while(|(a, b)| a == b).count();
                return Err(differs(rest, within));
            }
            self.at = if now.len() == message.len() {
                0
            } else {
                self.at + now.len()
            };
            rest = later;
        }
        Ok(())
    }
}

/// The messages of a stream as they arrived: (index, offset that the message ends at).
///
/// `turns` says whose each message was, in the order in which they came, the producer's or the
/// connection's: a byte for each, or two of them where there are more than 256. It is empty for a
/// stream of one producer on one connection.
pub fn arrivals<'a>(
    pool: &'a MessagePool,
    turns: &'a [u8],
) -> impl Iterator<Item = (u64, u64)> + use<'a> {
    let mut next: Vec<u64> = (0..pool.lanes()).collect();
    let mut end = 0;
    turns.chunks(pool.turn_bytes()).map_while(move |turn| {
        let lane = turn
            .iter()
            .rev()
            .fold(0, |high, &low| high << 8 | usize::from(low));
        let next = next.get_mut(lane)?;
        let index = *next;
        *next += pool.lanes();
        end += pool.message(index).len() as u64;
        Some((index, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::StreamCheck;
    use proptest::prelude::*;

    const PRODUCERS: u64 = 4;

    fn pool() -> MessagePool {
        MessagePool::generate(3, 1, 9)
            .unwrap()
            .shared_by(PRODUCERS)
            .unwrap()
    }

    prop_compose! {
        /// Whose turn it is, until each producer has sent all of 200 messages.
        fn turns()(turns in Just((0..200u8).map(|index| index % 4).collect::<Vec<_>>()).prop_shuffle()) -> Vec<u8> {
            turns
        }
    }

    fn stream(pool: &MessagePool, turns: &[u8]) -> Vec<u8> {
        arrivals(pool, turns)
            .flat_map(|(index, _)| pool.message(index).to_vec())
            .collect()
    }

    proptest! {
        #[test]
        fn any_order_of_producers_passes_and_is_told(
            turns in turns(),
            cuts in proptest::collection::vec(1usize..30, 1..40),
        ) {
            let pool = pool();
            let bytes = stream(&pool, &turns);
            let mut check = StreamCheck::new(pool.clone(), 200);
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                prop_assert_eq!(check.push(now), Ok(()));
                rest = later;
            }
            prop_assert_eq!(check.finish(), Ok(()));
            prop_assert_eq!(check.turns(), &turns[..]);
            let (mut indices, ends): (Vec<u64>, Vec<u64>) = arrivals(&pool, &turns).unzip();
            prop_assert!(ends.is_sorted());
            prop_assert_eq!(ends.last().copied(), Some(pool.stream_bytes(200)));
            indices.sort_unstable();
            prop_assert!(indices.into_iter().eq(0..200));
        }

        #[test]
        fn one_message_lost_doubled_swapped_or_altered_is_caught(
            turns in turns(), at in 0usize..190, fault in 0u8..4,
        ) {
            let pool = pool();
            let mut sent: Vec<Vec<u8>> =
                arrivals(&pool, &turns).map(|(index, _)| pool.message(index).to_vec()).collect();
            match fault {
                0 => { sent.remove(at); }
                1 => sent.insert(at, sent[at].clone()),
                2 => {
                    // With the next of the same producer: others' may come in any order.
                    let other = (at + 1..200).find(|&other| turns[other] == turns[at]);
                    prop_assume!(other.is_some_and(|other| sent[other] != sent[at]));
                    sent.swap(at, other.unwrap());
                }
                _ => *sent[at].last_mut().unwrap() ^= 64,
            }
            let mut check = StreamCheck::new(pool, 200);
            let outcome = sent.iter().try_for_each(|message| check.push(message))
                .and_then(|()| check.finish());
            prop_assert!(outcome.is_err());
        }

        #[test]
        fn garbage_is_refused_where_it_starts(garbage in proptest::collection::vec(any::<u8>(), 1..300)) {
            let mut check = StreamCheck::new(pool(), 20);
            let outcome = check.push(&garbage).and_then(|()| check.finish());
            if let Err(StreamError::Differs { offset }) = outcome {
                prop_assert!(offset < garbage.len() as u64);
            }
        }
    }

    #[test]
    fn producers_are_told_by_the_first_byte() {
        let pool = pool();
        for index in 0..100_000 {
            assert_eq!(u64::from(pool.message(index)[0]), index % PRODUCERS);
        }
    }
}
