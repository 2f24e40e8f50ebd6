//! Echo without I/O: the messages that a client may send, and the check of the bytes that come back.

use super::MessagePool;
use std::collections::VecDeque;
use thiserror::Error;

/// The bytes that came back are not those that were sent.
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
    /// The places of the next byte to send, and of the next to come back, in the pool's bytes.
    send_at: usize,
    receive_at: usize,
    sent_bytes: u64,
    /// Those, and what follows them and must be sent whatever comes.
    begun_bytes: u64,
    received_bytes: u64,
    completed: u64,
    /// How many messages were begun by which time; without those that have come back.
    begun: VecDeque<(u64, u64)>,
    /// The first fault, which a client that trusts the server does not see.
    fault: Option<EchoError>,
    is_trusting: bool,
}

/// The messages that one read completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completed {
    /// How many messages have come back whole with it.
    pub messages: u64,
    /// The sum of their round trips, in nanoseconds.
    pub round_trips_ns: u64,
}

impl Echoes {
    /// A connection whose first message is number `first` of the pool, all of whose messages have one
    /// size. It may begin none yet: see [`Echoes::allow`].
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
            begun_bytes: 0,
            received_bytes: 0,
            completed: 0,
            begun: VecDeque::new(),
            fault: None,
            is_trusting: false,
        }
    }

    /// The same for a client that counts bytes and believes that they are right, as published clients
    /// do: the fault that it should have seen is kept in [`Echoes::fault`].
    #[must_use]
    pub fn trusting(self) -> Self {
        Self {
            is_trusting: true,
            ..self
        }
    }

    /// Let the client begin so many more messages.
    pub fn allow(&mut self, messages: u64) {
        self.limit = self.begun_messages().saturating_add(messages);
    }

    /// Let the client begin one more message, beside those that it may begin already.
    pub fn allow_another(&mut self) {
        self.limit = self.limit.saturating_add(1);
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
        self.sent_bytes += count as u64;
        self.send_at = (self.send_at + count) % pool.bytes().len();
        self.begin(self.sent_bytes, at_ns);
    }

    /// The next `count` bytes of [`Echoes::to_send`] were encrypted at `at_ns`, and the kernel took
    /// them in part or not at all: their messages are begun, and they stay to be sent.
    pub fn on_encrypted(&mut self, count: usize, at_ns: u64) {
        self.begin(self.sent_bytes + count as u64, at_ns);
    }

    fn begin(&mut self, bytes: u64, at_ns: u64) {
        let before = self.begun_messages();
        self.begun_bytes = self.begun_bytes.max(bytes);
        let begun = self.begun_messages();
        if begun > before {
            self.begun.push_back((begun, at_ns));
        }
    }

    /// `chunk` came back, in a read that returned at `at_ns`; `record` gets the round trips that it ends:
    /// when they began, how long they were, in nanoseconds, and how many messages had them.
    ///
    /// # Errors
    /// [`EchoError`], unless the client is trusting.
    pub fn on_received(
        &mut self,
        pool: &MessagePool,
        chunk: &[u8],
        at_ns: u64,
        record: impl FnMut(u64, u64, u64),
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
        mut record: impl FnMut(u64, u64, u64),
    ) -> Completed {
        let mut ended = Completed::default();
        while self.completed < completed {
            // A message that was not begun cannot have been sent.
            let Some(&(until, begun_ns)) = self.begun.front() else {
                break;
            };
            let messages = until.min(completed) - self.completed;
            let round_trip_ns = at_ns.saturating_sub(begun_ns);
            record(begun_ns, round_trip_ns, messages);
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

    /// How long the messages that are in flight have been so, all of them together, in nanoseconds.
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

    /// Whether all messages that the client may begin have come back.
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

    /// The first fault that a trusting client should have seen.
    pub fn fault(&self) -> Option<EchoError> {
        self.fault
    }

    fn begun_messages(&self) -> u64 {
        self.begun_bytes.div_ceil(self.message_bytes)
    }
}

#[cfg(test)]
mod tests;
