//! The native sender: how fast this machine can send at all.

use super::pacer::Pacer;
use crate::{
    messages::MessagePool,
    schedule::Slices,
    sends::{Calls, MOST_WAITING_BYTES, Sends, hand_over},
    socket::send_all,
};
use std::{io, ops::Range, os::fd::RawFd, sync::Arc};
use tinygram_net::clock::{monotonic_ns, sleep_until_ns};

/// Flat out, the time of every 64th message's hand-over is noted.
pub const HAND_OVER_EVERY: u64 = 64;

/// Takes the messages of a stream, by their number in it, and sends them.
pub trait Outlet {
    /// Send a message, at the latest with the next `flush`.
    ///
    /// # Errors
    /// What the kernel says of the connection.
    fn send(&mut self, index: u64) -> io::Result<()>;
    /// Send what has gathered.
    ///
    /// # Errors
    /// Those of `send`.
    fn flush(&mut self) -> io::Result<()>;
    /// Flat out, [`HAND_OVER_EVERY`] messages were sent since the last time.
    ///
    /// # Errors
    /// Those of `send`.
    fn on_burst_end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends the messages of a stream.
#[derive(Debug)]
pub struct Sender<O> {
    outlet: O,
}

/// One blocking connection.
#[derive(Debug)]
pub struct OneConnection<'a> {
    fd: RawFd,
    pool: &'a MessagePool,
    /// The most bytes that gather for one write; `None`: a write for each message.
    max_bytes: Option<usize>,
    batch: Vec<u8>,
}

/// Many connections: message i goes over connection i modulo their number.
#[derive(Debug)]
pub struct ManyConnections {
    sends: Box<dyn Sends>,
    /// The messages of the pool.
    messages: Vec<Arc<[u8]>>,
    patience_ns: u64,
}

impl<'a> Sender<OneConnection<'a>> {
    /// A sender over the connected socket `fd`.
    pub fn new(fd: RawFd, pool: &'a MessagePool, max_bytes: Option<usize>) -> Self {
        Self::over(OneConnection {
            fd,
            pool,
            max_bytes,
            batch: Vec::with_capacity(max_bytes.unwrap_or(0)),
        })
    }
}

impl<O: Outlet> Sender<O> {
    /// A sender into this outlet.
    pub fn over(outlet: O) -> Self {
        Self { outlet }
    }

    /// The outlet of the sender.
    pub fn outlet(&self) -> &O {
        &self.outlet
    }

    /// Send messages `range` as fast as possible. Returns the time of every 64th hand-over, in ns.
    ///
    /// # Errors
    /// What the kernel says of the connection.
    pub fn send_flat_out(&mut self, range: Range<u64>) -> io::Result<Vec<u64>> {
        let count = range.end.saturating_sub(range.start);
        let mut hand_overs = Vec::with_capacity(count.div_ceil(HAND_OVER_EVERY) as usize);
        for (position, index) in (0u64..).zip(range) {
            if position % HAND_OVER_EVERY == 0 {
                self.outlet.on_burst_end()?;
                hand_overs.push(monotonic_ns());
            }
            self.outlet.send(index)?;
        }
        self.outlet.flush()?;
        Ok(hand_overs)
    }

    /// Send messages of `range` as fast as possible in slices after `start_ns`, and sleep in between;
    /// nothing is gathered from one slice to the next. Returns the time of every 64th hand-over, in ns,
    /// and how many messages were sent.
    ///
    /// # Errors
    /// What the kernel says of the connection.
    pub fn send_in_slices(
        &mut self,
        range: Range<u64>,
        slices: &Slices,
        start_ns: u64,
    ) -> io::Result<(Vec<u64>, u64)> {
        let mut hand_overs = Vec::new();
        let mut next = range.start;
        while next < range.end {
            let at_ns = monotonic_ns();
            let early_ns = start_ns.saturating_sub(at_ns);
            let Some(wait_ns) = slices.wait_ns(at_ns.saturating_sub(start_ns)) else {
                break;
            };
            if early_ns + wait_ns > 0 {
                self.outlet.flush()?;
                sleep_until_ns(at_ns + early_ns + wait_ns);
                // A sender that wakes up too late asks again: the slice may be over.
                continue;
            }
            hand_overs.push(at_ns);
            let burst_end = (next + HAND_OVER_EVERY).min(range.end);
            for index in next..burst_end {
                self.outlet.send(index)?;
            }
            self.outlet.on_burst_end()?;
            next = burst_end;
        }
        self.outlet.flush()?;
        Ok((hand_overs, next - range.start))
    }

    /// Send the messages that the pacer releases, from message `first` of the stream on; those that one
    /// wake-up releases leave together if messages are gathered.
    ///
    /// # Errors
    /// What the kernel says of the connection.
    pub fn send_paced(&mut self, pacer: &mut Pacer, first: u64) -> io::Result<()> {
        while pacer.next_due_ns().is_some() {
            for index in pacer.wait(None) {
                self.outlet.send(first + index)?;
            }
            self.outlet.flush()?;
        }
        Ok(())
    }
}

impl Outlet for OneConnection<'_> {
    fn send(&mut self, index: u64) -> io::Result<()> {
        let message = self.pool.message(index);
        let Some(max_bytes) = self.max_bytes else {
            return send_all(self.fd, message);
        };
        if self.batch.len() + message.len() > max_bytes {
            self.flush()?;
        }
        if message.len() > max_bytes {
            return send_all(self.fd, message);
        }
        self.batch.extend_from_slice(message);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.batch.is_empty() {
            send_all(self.fd, &self.batch)?;
            self.batch.clear();
        }
        Ok(())
    }
}

impl ManyConnections {
    /// The connections of `sends`, in their order; one that takes nothing for `patience_ns` is an error.
    pub fn new(sends: Box<dyn Sends>, pool: &MessagePool, patience_ns: u64) -> Self {
        let messages = (0..pool.message_count()).map(|index| pool.message(index).into());
        Self {
            sends,
            messages: messages.collect(),
            patience_ns,
        }
    }

    /// The system calls so far.
    pub fn calls(&self) -> Calls {
        self.sends.calls()
    }
}

impl Outlet for ManyConnections {
    fn send(&mut self, index: u64) -> io::Result<()> {
        let message = &self.messages[(index % self.messages.len() as u64) as usize];
        let connection = (index % self.sends.connections() as u64) as usize;
        self.sends.hand(connection, message)?;
        if self.sends.waiting_bytes() > MOST_WAITING_BYTES {
            // Wait for the receiver, as a sender on one connection does in each call.
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sends.flush()?;
        Ok(hand_over(&mut *self.sends, self.patience_ns)?)
    }

    fn on_burst_end(&mut self) -> io::Result<()> {
        self.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::receiver::Receiver, *};
    use crate::{
        messages::StreamCheck,
        schedule::{Arrival, Schedule},
        socket::admission::Admission,
    };
    use std::{
        net::{Ipv4Addr, TcpStream},
        os::fd::AsRawFd,
        thread,
    };

    fn round_trip(max_bytes: Option<usize>, is_paced: bool) -> usize {
        let pool = MessagePool::generate(5, 1, 300).unwrap();
        let receiver =
            Receiver::listen(Ipv4Addr::LOCALHOST.into(), "cubic", Admission::default()).unwrap();
        let port = receiver.port().unwrap();
        let schedule = Schedule::new(50_000.0, Arrival::Poisson, 4, 10_000_000, 1).unwrap();
        let count = schedule.messages();
        let check = StreamCheck::new(pool.clone(), count);
        thread::scope(|scope| {
            let reading = scope.spawn(move || receiver.receive(check, count, 0, 1 << 16, true));
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            let mut sender = Sender::new(stream.as_raw_fd(), &pool, max_bytes);
            if is_paced {
                let mut pacer = Pacer::new(schedule);
                pacer.start(monotonic_ns());
                sender.send_paced(&mut pacer, 0).unwrap();
                assert_eq!(pacer.errors().count(), count);
            } else {
                let hand_overs = sender.send_flat_out(0..count).unwrap();
                assert_eq!(hand_overs.len() as u64, count.div_ceil(HAND_OVER_EVERY));
            }
            drop(stream);
            reading.join().unwrap().unwrap().notes.len()
        })
    }

    #[test]
    fn in_slices_nothing_is_handed_over_while_they_are_closed() {
        let pool = MessagePool::generate(5, 1, 300).unwrap();
        for max_bytes in [None, Some(65_536)] {
            let receiver =
                Receiver::listen(Ipv4Addr::LOCALHOST.into(), "cubic", Admission::default())
                    .unwrap();
            let port = receiver.port().unwrap();
            let check = StreamCheck::new(pool.clone(), 1 << 30).ending_early();
            thread::scope(|scope| {
                let reading =
                    scope.spawn(move || receiver.receive(check, 1 << 30, 0, 1 << 16, true));
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
                let slices = Slices::new(vec![2_000_000, 9_000_000], 2_000_000).unwrap();
                let start_ns = monotonic_ns() + 1_000_000;
                let mut sender = Sender::new(stream.as_raw_fd(), &pool, max_bytes);
                let (hand_overs, sent) = sender
                    .send_in_slices(0..1 << 30, &slices, start_ns)
                    .unwrap();
                drop(stream);
                let reception = reading.join().unwrap().unwrap();
                let received = reception.notes.last().map_or(0, |note| note.bytes);
                assert_eq!(received, pool.stream_bytes(sent));
                assert_eq!(hand_overs.len() as u64, sent.div_ceil(HAND_OVER_EVERY));
                let slice_of = |at_ns: &u64| (*at_ns - start_ns) / 1_000_000;
                assert!(
                    hand_overs
                        .iter()
                        .all(|at_ns| [2, 3, 9, 10].contains(&slice_of(at_ns)))
                );
            });
        }
    }

    #[test]
    fn every_byte_arrives_in_each_mode() {
        for max_bytes in [None, Some(1), Some(64), Some(65_536)] {
            for is_paced in [false, true] {
                assert!(round_trip(max_bytes, is_paced) > 0);
            }
        }
    }
}
