//! The far end of a stream on many connections: one thread reads them by epoll(7), notes the time of
//! each read that ended a message, and compares every byte.

use super::{
    numbers::{Numbered, number_of},
    receiver::{Meets, Receiver, Reception},
};
use crate::{
    messages::{Note, Spread},
    process::Usage,
    socket::{admission::Admission, by_fd::ByFd, receive_now, reset_when_closed},
};
use rustix::net::sockopt;
use std::{
    io::{self, ErrorKind},
    net::{TcpListener, TcpStream},
    os::fd::{AsRawFd, RawFd},
    time::Duration,
};
use tinygram_net::{
    clock::monotonic_ns,
    epoll::{Epoll, For},
};

/// How long a connection may take to send its number.
const NUMBER_LIMIT: Duration = Duration::from_secs(10);

/// The connections of a stream, by their numbers.
struct Connections {
    /// `None`: the sender has ended the connection.
    streams: Vec<Option<TcpStream>>,
    numbers: ByFd<usize>,
    epoll: Epoll,
}

impl Receiver {
    /// Read all connections of a stream to their ends, `buffer_bytes` at most in a read; they are
    /// accepted before, unless they are made already. Usage is counted from the end of the first
    /// `warm_up` messages.
    ///
    /// # Errors
    /// When a connection fails, or a byte is not the one that was sent; the connection is named.
    pub fn receive_on_many(
        self,
        mut spread: Spread,
        warm_up: u64,
        buffer_bytes: usize,
    ) -> io::Result<Reception> {
        let (streams, peer_port, strangers) = match self.into_meets() {
            Meets::Listening(listener, sender) => {
                accepted(&listener, spread.connections(), sender)?
            }
            Meets::Connected(streams) => {
                let streams: Vec<_> = streams.into_iter().map(Some).collect();
                let first = streams.first().and_then(Option::as_ref);
                let port = first.map_or(Ok(0), |first| {
                    Ok::<_, io::Error>(first.local_addr()?.port())
                })?;
                (streams, port, 0)
            }
        };
        let mut connections = Connections::new(streams)?;
        let buffer_size = match connections.streams.first() {
            Some(Some(first)) => sockopt::socket_recv_buffer_size(first)? as u64,
            _ => 0,
        };
        let warm_up_bytes = spread.stream_bytes(warm_up);
        let mut buffer = vec![1u8; buffer_bytes];
        let mut notes: Vec<Note> = Vec::new();
        let mut before = Usage::of_thread();
        while !connections.numbers.is_empty() {
            let ready = match connections.epoll.wait(-1) {
                Err(error) if error.kind() == ErrorKind::Interrupted => 0,
                outcome => outcome?,
            };
            for index in 0..ready {
                let fd = connections.epoll.ready(index).fd;
                let Some((number, count)) = connections.read(fd, &mut buffer)? else {
                    continue;
                };
                let at_ns = monotonic_ns();
                let known_bytes = spread.whole_bytes();
                spread
                    .push(number, &buffer[..count])
                    .map_err(io::Error::other)?;
                let bytes = spread.whole_bytes();
                if bytes > known_bytes {
                    notes.push(Note { bytes, at_ns });
                }
                if bytes <= warm_up_bytes {
                    before = Usage::of_thread();
                }
            }
        }
        spread.finish().map_err(io::Error::other)?;
        Ok(Reception {
            notes,
            usage: Usage::of_thread().since(before),
            buffer_bytes: buffer_size,
            turns: spread.turns().to_vec(),
            peer_port,
            strangers,
        })
    }
}

impl Connections {
    fn new(streams: Vec<Option<TcpStream>>) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        let mut numbers = ByFd::default();
        for (number, stream) in streams.iter().flatten().enumerate() {
            // Our side ends second, and so keeps no port in TIME_WAIT.
            reset_when_closed(stream)?;
            let fd = stream.as_raw_fd();
            numbers.insert(fd, number);
            epoll.watch(fd, For::Reading)?;
        }
        Ok(Self {
            streams,
            numbers,
            epoll,
        })
    }

    /// Read from a connection. Returns its number and how many bytes came; `None`: none, or its end.
    fn read(&mut self, fd: RawFd, buffer: &mut [u8]) -> io::Result<Option<(usize, usize)>> {
        let Some(&number) = self.numbers.get(fd) else {
            return Ok(None);
        };
        let named = |error| io::Error::other(format!("connection {number} failed: {error}"));
        Ok(match receive_now(fd, buffer).map_err(named)? {
            Some(0) => {
                self.numbers.remove(fd);
                self.streams[number] = None;
                None
            }
            count => count.map(|count| (number, count)),
        })
    }
}

/// The connections by their numbers, the port of the first, and how many strangers came.
fn accepted(
    listener: &TcpListener,
    count: usize,
    sender: Admission,
) -> io::Result<(Vec<Option<TcpStream>>, u16, u64)> {
    let mut strangers = 0;
    let mut peer_port = 0;
    let mut streams = Numbered::new(count);
    while streams.missing() > 0 {
        let (mut stream, peer) = listener.accept()?;
        if !sender.admit(&stream, peer.ip()) {
            strangers += 1;
            continue;
        }
        stream.set_read_timeout(Some(NUMBER_LIMIT))?;
        let number = number_of(&mut stream)?;
        streams.put(number, stream).map_err(io::Error::other)?;
        if number == 0 {
            peer_port = peer.port();
        }
    }
    Ok((streams.into_places(), peer_port, strangers))
}

#[cfg(test)]
mod tests;
