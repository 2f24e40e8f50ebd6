//! All subscribers of a publisher, on one thread with epoll(7): every byte is compared, and every
//! receipt is timed.

use super::{
    clock::Difference,
    tally::{Tally, Turns},
};
use crate::{
    messages::{Follower, Publications},
    process::Usage,
    socket::{admission::Admission, by_fd::ByFd, listening, receive_now, reset_when_closed},
};
use std::{
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    os::fd::{AsRawFd, RawFd},
};
use tinygram_net::{
    clock::monotonic_ns,
    epoll::{Epoll, For},
};

const BACKLOG: i32 = 4096;
const BUFFER_BYTES: usize = 64 << 10;
/// How often the thread looks whether time is up, in milliseconds.
const LOOK_MS: i32 = 100;

/// The subscribers, from when they listen for the publisher until it has ended all connections.
#[derive(Debug)]
pub struct Subscribers {
    listener: TcpListener,
    publisher: Admission,
    epoll: Epoll,
    publications: Publications,
    /// The subscribers in the order in which they were accepted.
    subscribers: Vec<Subscriber>,
    /// The places of the subscribers whose connections are open.
    open: ByFd<usize>,
    /// How many subscribers have warmed up.
    reached: usize,
    tally: Tally,
    /// How this host's clock differs from the publisher's; `None`: they have the same.
    difference: Option<Difference>,
    buffer: Vec<u8>,
    strangers: u64,
    reads: u64,
    bytes: u64,
    /// The most publications that a subscriber has got.
    received: u64,
}

#[derive(Debug)]
struct Subscriber {
    /// `None`: the publisher has ended the connection.
    stream: Option<TcpStream>,
    follower: Follower,
}

/// What the subscribers have counted since the slices began.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Reads that brought bytes.
    pub reads: u64,
    /// The bytes that they brought.
    pub bytes: u64,
    /// The usage of the thread.
    pub usage: Usage,
    /// Publications that came to all subscribers.
    pub publications: u64,
    /// Connections that were not the publisher's, and were closed at once.
    pub strangers: u64,
}

impl Subscribers {
    /// Listen on an address of this host. Connections that are not the publisher's are ended.
    ///
    /// # Errors
    /// When the address or the congestion control is not available.
    pub fn listen(
        host: IpAddr,
        congestion_control: &str,
        publications: Publications,
        publisher: Admission,
    ) -> io::Result<Self> {
        let address = SocketAddr::new(host, 0);
        let listener = listening(address, Some(congestion_control), BACKLOG, publisher)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            publisher,
            epoll: Epoll::new()?,
            publications,
            subscribers: Vec::new(),
            open: ByFd::default(),
            reached: 0,
            tally: Tally::new(0),
            difference: None,
            // Not zero, so that the pages are touched now.
            buffer: vec![1; BUFFER_BYTES],
            strangers: 0,
            reads: 0,
            bytes: 0,
            received: 0,
        })
    }

    /// The port that the subscribers listen on.
    ///
    /// # Errors
    /// When the socket is gone.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Accept `count` connections, and receive `warm_up` publications on each. The first connection may
    /// come at any time, for other cases may connect before.
    ///
    /// # Errors
    /// When no further connection has come for `patience_ns`, or the warm-up has not come so long after
    /// the last one; otherwise those of [`Self::receive`].
    pub fn warm_up(&mut self, count: usize, warm_up: u64, patience_ns: u64) -> io::Result<()> {
        self.tally = Tally::new(count as u64);
        self.epoll.watch(self.listener.as_raw_fd(), For::Reading)?;
        let mut give_up_ns = u64::MAX;
        while self.subscribers.len() < count {
            if monotonic_ns() > give_up_ns {
                let here = self.subscribers.len();
                return Err(io::Error::other(format!(
                    "{here} of {count} subscribers were connected in time"
                )));
            }
            self.epoll.wait(LOOK_MS).or_else(unless_interrupted)?;
            let before = self.subscribers.len();
            while self.subscribers.len() < count && self.accept()? {}
            if self.subscribers.len() > before {
                give_up_ns = monotonic_ns() + patience_ns;
            }
        }
        let give_up_ns = monotonic_ns() + patience_ns;
        self.epoll.unwatch(self.listener.as_raw_fd());
        for stream in self
            .subscribers
            .iter()
            .filter_map(|one| one.stream.as_ref())
        {
            self.epoll.watch(stream.as_raw_fd(), For::Reading)?;
        }
        self.reached = 0;
        while self.reached < count {
            self.turn(give_up_ns, Some(warm_up))?;
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<bool> {
        match self.listener.accept() {
            Ok((stream, peer)) if !self.publisher.admit(&stream, peer.ip()) => self.strangers += 1,
            Ok((stream, _)) => {
                // Our end is the second to end, and keeps no port in TIME_WAIT.
                reset_when_closed(&stream)?;
                self.open.insert(stream.as_raw_fd(), self.subscribers.len());
                self.subscribers.push(Subscriber {
                    stream: Some(stream),
                    follower: Follower::default(),
                });
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => return Ok(false),
                ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                _ => return Err(error),
            },
        }
        Ok(true)
    }

    /// Receive until the publisher has ended all connections. `turns` are by the publisher's clock, which
    /// `difference` tells from ours, and `give_up_ns` is by ours.
    ///
    /// # Errors
    /// When a byte is not the one that was published, a connection is reset or ends earlier than others,
    /// or `give_up_ns` has come; the subscriber is named.
    pub fn receive(
        &mut self,
        turns: Turns,
        difference: Option<Difference>,
        give_up_ns: u64,
    ) -> io::Result<Counts> {
        let before = Usage::of_thread();
        let first = self.received;
        (self.reads, self.bytes) = (0, 0);
        self.difference = difference;
        self.tally.begin(turns);
        while !self.open.is_empty() {
            self.turn(give_up_ns, None)?;
        }
        let behind = |one: &Subscriber| one.follower.received() < self.received;
        if let Some(index) = self.subscribers.iter().position(behind) {
            return Err(self.ended_early(index, self.received));
        }
        Ok(Counts {
            reads: self.reads,
            bytes: self.bytes,
            usage: Usage::of_thread().since(before),
            publications: self.received - first,
            strangers: self.strangers,
        })
    }

    /// The counts and times of the run and of each slice.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Read what is ready. `until`: how many publications are awaited; `None`: the end.
    fn turn(&mut self, give_up_ns: u64, until: Option<u64>) -> io::Result<()> {
        let ready = self.epoll.wait(LOOK_MS).or_else(unless_interrupted)?;
        for index in 0..ready {
            let fd = self.epoll.ready(index).fd;
            self.read(fd, until)?;
        }
        if ready == 0 && monotonic_ns() > give_up_ns {
            return Err(self.missing(until));
        }
        Ok(())
    }

    fn read(&mut self, fd: RawFd, until: Option<u64>) -> io::Result<()> {
        let Some(&index) = self.open.get(fd) else {
            return Ok(());
        };
        let subscriber = &mut self.subscribers[index];
        let named =
            |why: &dyn std::fmt::Display| io::Error::other(format!("subscriber {index}: {why}"));
        let count = match receive_now(fd, &mut self.buffer).map_err(|error| named(&error))? {
            None => return Ok(()),
            Some(0) => return self.end(index, until),
            Some(count) => count,
        };
        let now_ns = monotonic_ns();
        let at_ns = self
            .difference
            .map_or(now_ns, |known| known.near_ns(now_ns));
        self.reads += 1;
        self.bytes += count as u64;
        let before = subscriber.follower.received();
        let tally = &mut self.tally;
        let mut tallied = Ok(());
        subscriber
            .follower
            .push(
                &self.buffer[..count],
                &self.publications,
                |number, due_ns| {
                    if tallied.is_ok() {
                        tallied = tally.on_receipt(number, due_ns, at_ns);
                    }
                },
            )
            .map_err(|fault| named(&fault))?;
        tallied.map_err(|fault| named(&fault))?;
        let now = subscriber.follower.received();
        self.received = self.received.max(now);
        if until.is_some_and(|wanted| before < wanted && wanted <= now) {
            self.reached += 1;
        }
        Ok(())
    }

    /// The publisher has ended this connection.
    fn end(&mut self, index: usize, until: Option<u64>) -> io::Result<()> {
        let subscriber = &mut self.subscribers[index];
        if let Some(stream) = subscriber.stream.take() {
            self.open.remove(stream.as_raw_fd());
        }
        match until {
            None if !subscriber.follower.is_amidst() => Ok(()),
            wanted => Err(self.ended_early(index, wanted.unwrap_or(self.received))),
        }
    }

    fn ended_early(&self, index: usize, wanted: u64) -> io::Error {
        let follower = &self.subscribers[index].follower;
        let received = follower.received();
        let part = if follower.is_amidst() {
            " and a part"
        } else {
            ""
        };
        io::Error::other(format!(
            "subscriber {index}: the publisher ended the connection after {received}{part} of \
             {wanted} publications"
        ))
    }

    fn missing(&self, until: Option<u64>) -> io::Error {
        let living = self.subscribers.iter().enumerate();
        let slowest = living
            .filter(|(_, one)| one.stream.is_some())
            .map(|(index, one)| (one.follower.received(), index))
            .min();
        let told = slowest.map_or_else(String::new, |(received, index)| {
            format!("subscriber {index} has {received} of ")
        });
        let wanted = until.unwrap_or(self.received);
        io::Error::other(format!("nothing more came: {told}{wanted} publications"))
    }
}

fn unless_interrupted(error: io::Error) -> io::Result<usize> {
    match error.kind() {
        ErrorKind::Interrupted => Ok(0),
        _ => Err(error),
    }
}
