//! The receiving end of a stream: reads, notes the time, and only then looks at the bytes.
//!
//! If the receiver listens, any program may connect before the sender, which is recognized by its address
//! (docs/decisions/0018), or, on another host, by its token. If the sender listens, the receiver's
//! connections are made before.

use crate::{
    messages::{Note, StreamCheck, StreamError},
    process::Usage,
    socket::{self, admission::Admission},
};
use rustix::net::sockopt;
use std::{
    io,
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    os::fd::AsRawFd,
};
use thiserror::Error;
use tinygram_net::clock::monotonic_ns;

const BACKLOG: i32 = 4096;
/// The most notes for which memory is made ready; a stream of more reads grows it while it runs.
const MAX_READY_NOTES: u64 = 8 << 20;
/// The same for a stream that may end early: nobody knows how many reads it takes.
const READY_NOTES: u64 = 1 << 20;

/// Why a stream was not received.
#[derive(Debug, Error)]
pub enum ReceiveError {
    /// The connection failed.
    #[error("the connection failed after {received} bytes: {source}")]
    Connection {
        /// The bytes that arrived before.
        received: u64,
        /// The kernel's error.
        source: io::Error,
    },
    /// What arrived is not what was sent.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

/// A received stream.
#[derive(Debug)]
pub struct Reception {
    /// One note for each read.
    pub notes: Vec<Note>,
    /// The usage of the reading thread from the end of the warm-up to the end.
    pub usage: Usage,
    /// The size of the kernel's receive buffer at the end.
    pub buffer_bytes: u64,
    /// Whose each message was, if the stream has several producers or connections.
    pub turns: Vec<u8>,
    /// The port of the end that connected: the sender, or, if that listened, the receiver.
    pub peer_port: u16,
    /// How many connections of others came before the sender's, and were ended.
    pub strangers: u64,
}

/// Has one connection to read, or many ([`super::connections`]): it waits for them on a fresh port, or
/// they are made already.
#[derive(Debug)]
pub struct Receiver {
    meets: Meets,
}

/// How a receiver comes to its connections.
#[derive(Debug)]
pub(crate) enum Meets {
    /// For connections that are the sender's; others are ended.
    Listening(TcpListener, Admission),
    Connected(Vec<TcpStream>),
}

impl Receiver {
    /// Listen on an address of this host, a port that the kernel picks, with this congestion control.
    /// Connections that are not the sender's are ended.
    ///
    /// # Errors
    /// When the address, a port or the congestion control is not available.
    pub fn listen(
        address: IpAddr,
        congestion_control: &str,
        sender: Admission,
    ) -> io::Result<Self> {
        let address = SocketAddr::new(address, 0);
        let listener = socket::listening(address, Some(congestion_control), BACKLOG, sender)?;
        Ok(Self {
            meets: Meets::Listening(listener, sender),
        })
    }

    /// Read connections that are made already, in the order of their numbers.
    pub fn connected(streams: Vec<TcpStream>) -> Self {
        Self {
            meets: Meets::Connected(streams),
        }
    }

    /// The port that the receiver listens on; 0: it does not listen.
    ///
    /// # Errors
    /// When the socket is gone.
    pub fn port(&self) -> io::Result<u16> {
        match &self.meets {
            Meets::Listening(listener, _) => Ok(listener.local_addr()?.port()),
            Meets::Connected(_) => Ok(0),
        }
    }

    pub(crate) fn into_meets(self) -> Meets {
        self.meets
    }

    /// Read one connection to its end, `buffer_bytes` at most in a read; it is accepted before, unless
    /// it is made already. Usage is counted from the end of the first `warm_up` of its `messages` messages.
    /// `compares` false skips the comparison: only for measuring the cost of comparing.
    ///
    /// # Errors
    /// [`ReceiveError`]; reading stops at the first wrong byte.
    pub fn receive(
        self,
        mut check: StreamCheck,
        messages: u64,
        warm_up: u64,
        buffer_bytes: usize,
        compares: bool,
    ) -> Result<Reception, ReceiveError> {
        let warm_up_bytes = check.stream_bytes(warm_up);
        let mut notes = ready_notes(if check.may_end_early() {
            READY_NOTES
        } else {
            messages + check.expected_bytes() / buffer_bytes as u64
        });
        // Not zero, so that the pages are touched now.
        let mut buffer = vec![1u8; buffer_bytes];
        let failed = |received| move |source| ReceiveError::Connection { received, source };
        let (stream, peer_port, strangers) = self.meet().map_err(failed(0))?;
        let mut before = Usage::of_thread();
        loop {
            let count = socket::receive_some(stream.as_raw_fd(), &mut buffer)
                .map_err(failed(check.received_bytes()))?;
            let at_ns = monotonic_ns();
            if count == 0 {
                break;
            }
            let bytes = check.received_bytes() + count as u64;
            notes.push(Note { bytes, at_ns });
            if compares {
                check.push(&buffer[..count])?;
            } else {
                check.skip(count)?;
            }
            if bytes <= warm_up_bytes {
                before = Usage::of_thread();
            }
        }
        check.finish()?;
        Ok(Reception {
            notes,
            usage: Usage::of_thread().since(before),
            buffer_bytes: sockopt::socket_recv_buffer_size(&stream)
                .map_err(|errno| failed(check.received_bytes())(errno.into()))?
                as u64,
            turns: check.turns().to_vec(),
            peer_port,
            strangers,
        })
    }

    /// The connection, the port of the end that connected, and how many strangers came before.
    fn meet(self) -> io::Result<(TcpStream, u16, u64)> {
        match self.meets {
            Meets::Listening(listener, sender) => {
                let mut strangers = 0;
                loop {
                    let (stream, peer) = listener.accept()?;
                    if sender.admit(&stream, peer.ip()) {
                        return Ok((stream, peer.port(), strangers));
                    }
                    strangers += 1;
                }
            }
            Meets::Connected(streams) => {
                let told = || io::Error::other("there is no connection to read");
                let stream = streams.into_iter().next().ok_or_else(told)?;
                let port = stream.local_addr()?.port();
                Ok((stream, port, 0))
            }
        }
    }
}

/// Room for `count` notes whose pages the kernel has already given.
fn ready_notes(count: u64) -> Vec<Note> {
    let count = (count + 1024).min(MAX_READY_NOTES) as usize;
    let mut notes = vec![Note { bytes: 1, at_ns: 1 }; count];
    notes.clear();
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diag::{Diag, Socket, Wanted},
        messages::MessagePool,
    };
    use std::{
        io::Write,
        net::{Ipv4Addr, TcpStream},
        thread,
    };
    use tinygram_net::{clock::sleep_until_ns, socket::send_queue_bytes};

    fn receive(
        send: impl FnOnce(&mut TcpStream, &MessagePool) + Send,
    ) -> Result<Reception, ReceiveError> {
        let pool = MessagePool::generate(1, 1, 50).unwrap();
        let receiver =
            Receiver::listen(Ipv4Addr::LOCALHOST.into(), "cubic", Admission::default()).unwrap();
        let port = receiver.port().unwrap();
        thread::scope(|scope| {
            let sent = pool.clone();
            scope.spawn(move || {
                let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
                send(&mut stream, &sent);
            });
            receiver.receive(StreamCheck::new(pool, 20), 20, 1, 4096, true)
        })
    }

    fn first_20(pool: &MessagePool) -> Vec<u8> {
        (0..20).flat_map(|i| pool.message(i).to_vec()).collect()
    }

    #[test]
    fn a_whole_stream_is_noted_to_its_last_byte() {
        let reception = receive(|stream, pool| {
            for index in 0..20 {
                stream.write_all(pool.message(index)).unwrap();
            }
        })
        .unwrap();
        let pool = MessagePool::generate(1, 1, 50).unwrap();
        assert_eq!(reception.notes.last().unwrap().bytes, pool.stream_bytes(20));
        assert!(
            reception
                .notes
                .is_sorted_by(|a, b| a.bytes < b.bytes && a.at_ns <= b.at_ns)
        );
        assert!(reception.peer_port > 0);
    }

    #[test]
    fn a_connection_that_is_made_already_is_read() {
        let pool = MessagePool::generate(1, 1, 50).unwrap();
        let sender = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(sender.local_addr().unwrap()).unwrap();
        let own_port = stream.local_addr().unwrap().port();
        let (mut accepted, _) = sender.accept().unwrap();
        accepted.write_all(&first_20(&pool)).unwrap();
        drop(accepted);
        let receiver = Receiver::connected(vec![stream]);
        assert_eq!(receiver.port().unwrap(), 0);
        let check = StreamCheck::new(pool.clone(), 20);
        let reception = receiver.receive(check, 20, 1, 4096, true).unwrap();
        assert_eq!(reception.notes.last().unwrap().bytes, pool.stream_bytes(20));
        assert_eq!((reception.peer_port, reception.strangers), (own_port, 0));
    }

    #[test]
    fn without_a_connection_there_is_nothing_to_read() {
        let pool = MessagePool::generate(1, 1, 50).unwrap();
        let receiver = Receiver::connected(Vec::new());
        let outcome = receiver.receive(StreamCheck::new(pool, 20), 20, 1, 4096, true);
        assert!(matches!(
            outcome,
            Err(ReceiveError::Connection { received: 0, .. })
        ));
    }

    #[test]
    fn a_wrong_byte_a_missing_one_and_one_too_many_are_caught() {
        let altered = receive(|stream, pool| {
            let mut bytes = first_20(pool);
            bytes[77] ^= 4;
            // The receiver may reset the connection before all is written.
            let _unread = stream.write_all(&bytes);
        });
        assert!(matches!(
            altered,
            Err(ReceiveError::Stream(StreamError::Differs { offset: 77 }))
        ));
        let short = receive(|stream, pool| {
            let bytes = first_20(pool);
            stream.write_all(&bytes[..bytes.len() - 1]).unwrap();
        });
        assert!(matches!(
            short,
            Err(ReceiveError::Stream(StreamError::TooShort { .. }))
        ));
        let long = receive(|stream, pool| {
            let mut bytes = first_20(pool);
            bytes.push(0);
            stream.write_all(&bytes).unwrap();
        });
        assert!(matches!(
            long,
            Err(ReceiveError::Stream(StreamError::TooLong { .. }))
        ));
    }

    /// Wait until the peer's program has taken all that was sent.
    fn wait_until_read(stream: &TcpStream) {
        let ours = stream.local_addr().unwrap();
        let wanted = Wanted {
            port: Some(ours.port()),
            inodes: None,
        };
        let mut diag = Diag::open().unwrap();
        let mut unread_bytes = || {
            let held = diag.sockets(&wanted).unwrap();
            let is_peer = |socket: &&Socket| socket.id.remote == ours;
            let peer = held.sockets.iter().find(is_peer);
            peer.map_or(0, |socket| socket.receive_queue)
        };
        let give_up_ns = monotonic_ns() + 60_000_000_000;
        loop {
            let unacknowledged_bytes = send_queue_bytes(stream.as_raw_fd()).unwrap();
            let unread_bytes = unread_bytes();
            if unacknowledged_bytes == 0 && unread_bytes == 0 {
                return;
            }
            assert!(
                monotonic_ns() < give_up_ns,
                "after a minute {unacknowledged_bytes} bytes are not acknowledged, \
                 {unread_bytes} not read"
            );
            sleep_until_ns(monotonic_ns() + 1_000_000);
        }
    }

    #[test]
    fn a_reset_is_an_error_with_the_bytes_that_arrived() {
        let reset = receive(|stream, pool| {
            stream.write_all(pool.message(0)).unwrap();
            wait_until_read(stream);
            socket::reset_when_closed(stream).unwrap();
        });
        assert!(matches!(reset, Err(ReceiveError::Connection { received, .. }) if received > 0));
    }
}
