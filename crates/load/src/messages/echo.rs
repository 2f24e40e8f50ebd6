//! Echo without I/O: what a client may send, and what must come back.

use super::MessagePool;
use std::collections::VecDeque;
use thiserror::Error;

/// What came back is not what was sent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum EchoError {
    /// A byte is not the one that was sent.
    #[error("byte {offset} that came back is not the one that was sent")]
    Differs {
        /// Offset of the first wrong byte, in the connection's own stream.
        offset: u64,
    },
    /// More came back than was sent.
    #[error("{received} bytes came back, and only {sent} had been sent")]
    TooLong {
        /// The bytes that came back.
        received: u64,
        /// The bytes that had been sent by then.
        sent: u64,
    },
}

/// One connection of a client: `depth` messages of one size in flight at most, each sent when one
/// has come back whole.
///
/// Times are nanoseconds of one clock. A round trip begins before the write that hands over a
/// message's first byte, and ends with the read that returns its last one.
#[derive(Debug)]
pub struct Echoes {
    message_bytes: u64,
    depth: u64,
    /// No message beyond these is begun.
    limit: u64,
    /// Where the next byte to send, and the next to come back, lies in the pool's bytes.
    send_at: usize,
    receive_at: usize,
    sent_bytes: u64,
    received_bytes: u64,
    completed: u64,
    /// How many messages were begun by which time; without those that have come back.
    begun: VecDeque<(u64, u64)>,
    /// What a client that trusts the server does not see; the first of it.
    fault: Option<EchoError>,
    is_trusting: bool,
}

/// What came back in one read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completed {
    /// Messages that have come back whole with it.
    pub messages: u64,
    /// The sum of their round trips, in nanoseconds.
    pub round_trips_ns: u64,
}

impl Echoes {
    /// A connection whose first message is number `first` of the pool, which is one of messages of
    /// one size. It may begin none yet: see [`Echoes::allow`].
    ///
    /// # Panics
    /// When the pool's messages differ in size.
    pub fn new(pool: &MessagePool, first: u64, depth: u64) -> Self {
        let message_bytes = pool.message(0).len() as u64;
        assert_eq!(
            pool.bytes().len() as u64,
            pool.message_count() * message_bytes,
            "messages of one size"
        );
        let start = (first % pool.message_count() * message_bytes) as usize;
        Self {
            message_bytes,
            depth: depth.max(1),
            limit: 0,
            send_at: start,
            receive_at: start,
            sent_bytes: 0,
            received_bytes: 0,
            completed: 0,
            begun: VecDeque::new(),
            fault: None,
            is_trusting: false,
        }
    }

    /// The same for a client that counts bytes and believes they are the right ones, as published
    /// ones do: what it should have seen is kept in [`Echoes::fault`].
    #[must_use]
    pub fn trusting(self) -> Self {
        Self {
            is_trusting: true,
            ..self
        }
    }

    /// Let it begin so many messages more.
    pub fn allow(&mut self, messages: u64) {
        self.limit = self.begun_messages().saturating_add(messages);
    }

    /// Begin no more; those that are begun are finished.
    pub fn stop(&mut self) {
        self.limit = self.limit.min(self.begun_messages());
    }

    /// What may be sent now, empty when nothing may; more may be allowed after it.
    pub fn to_send<'a>(&self, pool: &'a MessagePool) -> &'a [u8] {
        let messages = (self.completed + self.depth).min(self.limit);
        let window_bytes = messages.saturating_mul(self.message_bytes);
        let count = window_bytes.saturating_sub(self.sent_bytes);
        let turn = &pool.bytes()[self.send_at..];
        &turn[..turn.len().min(usize::try_from(count).unwrap_or(usize::MAX))]
    }

    /// The kernel took `count` bytes of [`Echoes::to_send`], handed over at `at_ns`.
    pub fn on_sent(&mut self, pool: &MessagePool, count: usize, at_ns: u64) {
        let before = self.begun_messages();
        self.sent_bytes += count as u64;
        self.send_at = (self.send_at + count) % pool.bytes().len();
        let begun = self.begun_messages();
        if begun > before {
            self.begun.push_back((begun, at_ns));
        }
    }

    /// `chunk` came back, in a read that returned at `at_ns`; `record` is told of the round trips that
    /// it ends: how long each was, in nanoseconds, and of how many messages.
    ///
    /// # Errors
    /// [`EchoError`], unless the client is a trusting one.
    pub fn on_received(
        &mut self,
        pool: &MessagePool,
        chunk: &[u8],
        at_ns: u64,
        record: impl FnMut(u64, u64),
    ) -> Result<Completed, EchoError> {
        if let Err(fault) = self.compare(pool, chunk) {
            if !self.is_trusting {
                return Err(fault);
            }
            self.fault = self.fault.or(Some(fault));
        }
        self.received_bytes += chunk.len() as u64;
        let completed = self.received_bytes / self.message_bytes;
        Ok(self.complete(completed, at_ns, record))
    }

    fn compare(&mut self, pool: &MessagePool, chunk: &[u8]) -> Result<(), EchoError> {
        let received = self.received_bytes + chunk.len() as u64;
        if received > self.sent_bytes {
            return Err(EchoError::TooLong {
                received,
                sent: self.sent_bytes,
            });
        }
        let mut rest = chunk;
        let mut fault = None;
        while !rest.is_empty() {
            let turn = &pool.bytes()[self.receive_at..];
            let (now, later) = rest.split_at(rest.len().min(turn.len()));
            if fault.is_none() && *now != turn[..now.len()] {
                let within = now.iter().zip(turn).take_while(|(a, b)| a == b).count();
                let before = chunk.len() - rest.len();
                let offset = self.received_bytes + (before + within) as u64;
                fault = Some(EchoError::Differs { offset });
            }
            self.receive_at = (self.receive_at + now.len()) % pool.bytes().len();
            rest = later;
        }
        fault.map_or(Ok(()), Err)
    }

    fn complete(
        &mut self,
        completed: u64,
        at_ns: u64,
        mut record: impl FnMut(u64, u64),
    ) -> Completed {
        let mut ended = Completed::default();
        while self.completed < completed {
            // What nobody began cannot have been sent.
            let Some(&(until, begun_ns)) = self.begun.front() else {
                break;
            };
            let messages = until.min(completed) - self.completed;
            let round_trip_ns = at_ns.saturating_sub(begun_ns);
            record(round_trip_ns, messages);
            ended.messages += messages;
            ended.round_trips_ns += messages * round_trip_ns;
            self.completed += messages;
            if self.completed == until {
                self.begun.pop_front();
            }
        }
        ended
    }

    /// How many messages have come back whole so far.
    pub fn completed_messages(&self) -> u64 {
        self.completed
    }

    /// For how long the messages that are in flight have been, all of them together, in nanoseconds.
    pub fn in_flight_ns(&self, at_ns: u64) -> u64 {
        let mut before = self.completed;
        self.begun.iter().fold(0, |sum_ns, &(until, begun_ns)| {
            let messages = until - before;
            before = until;
            sum_ns + messages * at_ns.saturating_sub(begun_ns)
        })
    }

    /// Bytes that were sent and have not come back.
    pub fn outstanding_bytes(&self) -> u64 {
        self.sent_bytes.saturating_sub(self.received_bytes)
    }

    /// Whether all that it may begin has come back.
    pub fn is_done(&self) -> bool {
        self.completed >= self.limit
    }

    /// How many messages may still come back.
    pub fn left_messages(&self) -> u64 {
        self.limit.saturating_sub(self.completed)
    }

    /// The bytes that the kernel took, and those that came back.
    pub fn bytes(&self) -> (u64, u64) {
        (self.sent_bytes, self.received_bytes)
    }

    /// What a trusting client should have seen first.
    pub fn fault(&self) -> Option<EchoError> {
        self.fault
    }

    fn begun_messages(&self) -> u64 {
        self.sent_bytes.div_ceil(self.message_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tinygram_core::Histogram;

    fn pool(message_bytes: u64) -> MessagePool {
        MessagePool::generate(7, message_bytes, message_bytes).unwrap()
    }

    /// Send all that may be sent, at `at_ns`; what the kernel was given.
    fn send(echoes: &mut Echoes, pool: &MessagePool, at_ns: u64) -> Vec<u8> {
        let mut sent = Vec::new();
        loop {
            let bytes = echoes.to_send(pool);
            if bytes.is_empty() {
                return sent;
            }
            sent.extend_from_slice(bytes);
            echoes.on_sent(pool, bytes.len(), at_ns);
        }
    }

    fn recording(trips: &mut Histogram) -> impl FnMut(u64, u64) {
        |value_ns, count| trips.record_many(value_ns, count)
    }

    #[test]
    fn no_more_than_depth_messages_are_in_flight_and_none_is_begun_beyond_the_limit() {
        let pool = pool(10);
        let mut echoes = Echoes::new(&pool, 0, 3);
        assert!(echoes.to_send(&pool).is_empty());
        echoes.allow(5);
        let mut trips = Histogram::new();
        let sent = send(&mut echoes, &pool, 100);
        assert_eq!(sent.len(), 30);
        let ended = echoes.on_received(&pool, &sent[..25], 150, recording(&mut trips));
        assert_eq!(
            ended.unwrap(),
            Completed {
                messages: 2,
                round_trips_ns: 100
            }
        );
        let more = send(&mut echoes, &pool, 200);
        assert_eq!(more.len(), 20);
        // One of the first write, and two of the second.
        assert_eq!(echoes.in_flight_ns(210), 110 + 2 * 10);
        let rest = [&sent[25..], &more].concat();
        let ended = echoes
            .on_received(&pool, &rest, 260, recording(&mut trips))
            .unwrap();
        // One of the first write, two of the second.
        assert_eq!((ended.messages, ended.round_trips_ns), (3, 160 + 2 * 60));
        assert!(echoes.is_done() && echoes.to_send(&pool).is_empty());
        assert_eq!(
            (trips.count(), trips.min_ns(), trips.max_ns()),
            (5, 50, 160)
        );
        assert_eq!((echoes.bytes(), echoes.outstanding_bytes()), ((50, 50), 0));
    }

    #[test]
    fn one_that_is_stopped_finishes_what_it_has_begun() {
        let pool = pool(10);
        let mut echoes = Echoes::new(&pool, 0, 4);
        echoes.allow(1_000);
        echoes.on_sent(&pool, 13, 1);
        echoes.stop();
        assert_eq!(echoes.to_send(&pool).len(), 7);
        assert_eq!(echoes.left_messages(), 2);
        // A later run goes on where this one ended.
        send(&mut echoes, &pool, 2);
        echoes.allow(1);
        assert_eq!(echoes.to_send(&pool).len(), 10);
    }

    #[test]
    fn connections_send_different_bytes() {
        let pool = pool(10);
        let of = |first| {
            let mut echoes = Echoes::new(&pool, first, 1);
            echoes.allow(1);
            send(&mut echoes, &pool, 0)
        };
        assert_ne!(of(0), of(1));
        assert_eq!(of(1), pool.message(1));
        assert_eq!(of(1 + pool.message_count()), of(1));
    }

    #[test]
    fn a_server_that_sends_its_whole_buffer_is_caught_with_the_first_read() {
        let pool = pool(10);
        let mut echoes = Echoes::new(&pool, 0, 1);
        echoes.allow(5);
        let mut sent = send(&mut echoes, &pool, 0);
        sent.resize(64, 0);
        let mut trips = Histogram::new();
        assert_eq!(
            echoes.on_received(&pool, &sent, 1, recording(&mut trips)),
            Err(EchoError::TooLong {
                received: 64,
                sent: 10
            })
        );
        assert_eq!(trips.count(), 0);
    }

    #[test]
    fn a_trusting_client_takes_any_bytes_for_its_own_and_keeps_what_it_should_have_seen() {
        let pool = pool(10);
        let mut echoes = Echoes::new(&pool, 0, 1).trusting();
        echoes.allow(3);
        let mut trips = Histogram::new();
        for round in 1..=3 {
            send(&mut echoes, &pool, round);
            let ended = echoes.on_received(&pool, &[0; 10], round + 1, recording(&mut trips));
            assert_eq!(ended.unwrap().messages, 1);
        }
        assert!(echoes.is_done());
        assert!(matches!(
            echoes.fault(),
            Some(EchoError::Differs { offset }) if offset < 10
        ));
    }

    proptest! {
        #[test]
        fn an_honest_echo_passes_however_both_ways_are_cut(
            size in 1u64..50, depth in 1u64..9, count in 1u64..60, cuts in proptest::collection::vec(1usize..70, 1..20)
        ) {
            let pool = pool(size);
            let mut echoes = Echoes::new(&pool, 3, depth);
            echoes.allow(count);
            let mut trips = Histogram::new();
            let mut wire: VecDeque<u8> = VecDeque::new();
            let mut cut = cuts.iter().cycle();
            let mut now_ns = 0;
            while !echoes.is_done() {
                now_ns += 1;
                let bytes = echoes.to_send(&pool);
                let taken = bytes.len().min(*cut.next().unwrap());
                wire.extend(&bytes[..taken]);
                echoes.on_sent(&pool, taken, now_ns);
                let back = wire.len().min(*cut.next().unwrap());
                let chunk: Vec<u8> = wire.drain(..back).collect();
                prop_assert!(echoes.on_received(&pool, &chunk, now_ns, recording(&mut trips)).is_ok());
                prop_assert!(echoes.outstanding_bytes() <= depth * size);
            }
            prop_assert_eq!(trips.count(), count);
            prop_assert_eq!(echoes.bytes(), (count * size, count * size));
        }

        #[test]
        fn one_byte_that_is_not_the_one_that_was_sent_is_named(at in 0usize..200, size in 1u64..30) {
            let pool = pool(size);
            let mut echoes = Echoes::new(&pool, 0, 1_000);
            echoes.allow(200);
            let mut wire = send(&mut echoes, &pool, 0);
            wire.truncate(200);
            prop_assume!(at < wire.len());
            wire[at] ^= 0x10;
            let mut trips = Histogram::new();
            prop_assert_eq!(
                echoes.on_received(&pool, &wire, 1, recording(&mut trips)),
                Err(EchoError::Differs { offset: at as u64 })
            );
        }
    }
}
