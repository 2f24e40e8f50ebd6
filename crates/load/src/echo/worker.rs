//! A worker, which is one connection of the client, and why it failed.

use super::settings::Settings;
use crate::{
    messages::{Completed, EchoError, Echoes, MessagePool},
    socket::{connected_as, receive_now, receive_some},
};
use rustix::net::sockopt;
use std::{
    fmt::Debug,
    io,
    net::{SocketAddr, TcpStream},
    os::fd::{AsRawFd, RawFd},
    time::Duration,
};
use thiserror::Error;
use tinygram_net::{
    clock::monotonic_ns,
    epoll::{Epoll, For},
    socket::send_now,
};

/// What went wrong with a worker's connection.
#[derive(Debug, Error)]
pub enum Fault {
    /// The connection was not made.
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    /// The connection failed.
    #[error("the connection failed after {received} of {sent} bytes had come back: {source}")]
    Connection {
        /// The bytes that had been sent.
        sent: u64,
        /// The bytes that had come back.
        received: u64,
        /// What the kernel says.
        source: io::Error,
    },
    /// The server ended the connection too soon.
    #[error("the server ended the connection after {received} of {sent} bytes had come back")]
    Ended {
        /// The bytes that had been sent.
        sent: u64,
        /// The bytes that had come back.
        received: u64,
    },
    /// Time is up.
    #[error("only {received} of {sent} bytes had come back when time was up")]
    Silent {
        /// The bytes that had been sent.
        sent: u64,
        /// The bytes that had come back.
        received: u64,
    },
    /// What came back is not what was sent.
    #[error(transparent)]
    Echo(#[from] EchoError),
}

/// How many bytes a connection took, and how many more are in a record that is encrypted already: no
/// other bytes can take their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The first bytes, which the kernel has.
    pub taken: usize,
    /// The bytes after those, which are encrypted already: the same ones must be offered again.
    pub encrypted: usize,
}

/// Sends and receives the plaintext of an encrypted connection, and does not block.
pub trait EncryptedConnection: Debug + Send + Sync {
    /// Send what the connection takes now. Bytes that were not taken are offered again, at least as many
    /// as are encrypted by then.
    ///
    /// # Errors
    /// When the connection fails.
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent>;

    /// Read plaintext once, of one record at most; 0: the peer has ended the stream, `None`: nothing has
    /// come.
    ///
    /// # Errors
    /// When the connection fails.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>>;
}

/// Makes the handshake on a descriptor's connection, and encrypts it; the descriptor stays its owner's.
pub type Encrypt<'a> = &'a dyn Fn(RawFd) -> io::Result<Box<dyn EncryptedConnection>>;

/// A connection and its messages.
#[derive(Debug)]
pub(super) struct Worker {
    stream: TcpStream,
    encrypted: Option<Box<dyn EncryptedConnection>>,
    watched: Option<For>,
    pub(super) echoes: Echoes,
}

impl Worker {
    /// Connect.
    pub(super) fn connect(
        server: SocketAddr,
        echoes: Echoes,
        settings: &Settings,
    ) -> io::Result<Self> {
        let stream = connected_as(settings.admission, server, settings.connect_timeout)?;
        // The client's own sends are not measured: none of them may wait.
        stream.set_nodelay(true)?;
        if let Some(name) = &settings.congestion_control {
            sockopt::set_tcp_congestion(&stream, name)?;
        }
        Ok(Self {
            stream,
            encrypted: None,
            watched: None,
            echoes,
        })
    }

    /// From now on all bytes are encrypted.
    pub(super) fn encrypt(&mut self, encrypt: Encrypt<'_>) -> io::Result<()> {
        self.encrypted = Some(encrypt(self.fd())?);
        Ok(())
    }

    pub(super) fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Have epoll watch the connection for `wanted` from now on; `None`: watch it no more.
    pub(super) fn watch(&mut self, epoll: &Epoll, wanted: Option<For>) -> io::Result<()> {
        match (self.watched, wanted) {
            (now, wanted) if now == wanted => {}
            (None, Some(what)) => epoll.watch(self.fd(), what)?,
            (Some(_), Some(what)) => epoll.change(self.fd(), what)?,
            (_, None) => epoll.unwatch(self.fd()),
        }
        self.watched = wanted;
        Ok(())
    }

    /// Send what may be sent, as far as the kernel takes it. Returns how many writes that took.
    pub(super) fn send(&mut self, pool: &MessagePool, epoll: &Epoll) -> Result<u64, Fault> {
        let mut writes = 0;
        let mut wanted = For::Reading;
        loop {
            let bytes = self.echoes.to_send(pool);
            if bytes.is_empty() {
                break;
            }
            let at_ns = monotonic_ns();
            let sent = match &mut self.encrypted {
                Some(encrypted) => encrypted.send(bytes),
                None => send_now(self.stream.as_raw_fd(), bytes, &[]).map(|taken| Sent {
                    taken,
                    encrypted: 0,
                }),
            };
            let Sent { taken, encrypted } = sent.map_err(|source| self.failed(source))?;
            if taken > 0 {
                writes += 1;
                self.echoes.on_sent(pool, taken, at_ns);
            }
            if encrypted > 0 {
                self.echoes.on_encrypted(encrypted, at_ns);
            }
            if taken < bytes.len() {
                wanted = For::Both;
                break;
            }
        }
        self.watch(epoll, Some(wanted))
            .map_err(|source| self.failed(source))?;
        Ok(writes)
    }

    /// Read once, what the buffer takes: the time after the read, and what came back whole with it;
    /// `None` where nothing has come. `record` is that of [`Echoes::on_received`].
    pub(super) fn receive(
        &mut self,
        pool: &MessagePool,
        buffer: &mut [u8],
        record: impl FnMut(u64, u64, u64),
    ) -> Result<Option<(u64, Completed)>, Fault> {
        if buffer.is_empty() {
            return Ok(None);
        }
        let read = match &mut self.encrypted {
            Some(encrypted) => encrypted.receive(buffer),
            None => receive_now(self.stream.as_raw_fd(), buffer),
        };
        let read = read.map_err(|source| self.failed(source))?;
        let Some(count) = read else {
            return Ok(None);
        };
        let at_ns = monotonic_ns();
        if count == 0 {
            let (sent, received) = self.echoes.bytes();
            return Err(Fault::Ended { sent, received });
        }
        let ended = self
            .echoes
            .on_received(pool, &buffer[..count], at_ns, record)?;
        Ok(Some((at_ns, ended)))
    }

    /// Acknowledge at once what was read. No message will take the acknowledgement along, and a server
    /// with Nagle's algorithm may hold its next reply until it comes, 40 ms later.
    pub(super) fn acknowledge(&self) -> Result<(), Fault> {
        sockopt::set_tcp_quickack(&self.stream, true).map_err(|error| self.failed(error.into()))
    }

    /// End our side, and wait `patience` for the server's end: nothing more may come back.
    pub(super) fn end(&mut self, patience: Duration) -> Result<(), Fault> {
        let (sent, received) = self.echoes.bytes();
        let ended = self.stream.shutdown(std::net::Shutdown::Write);
        let waiting = ended.and_then(|()| self.stream.set_read_timeout(Some(patience)));
        if waiting.is_err() {
            return Ok(()); // The server was faster, and nothing came back.
        }
        let last = match &mut self.encrypted {
            Some(encrypted) => last_of(encrypted.as_mut(), self.stream.as_raw_fd(), patience),
            None => receive_some(self.stream.as_raw_fd(), &mut [0; 4096]),
        };
        match last {
            Ok(more) if more > 0 => Err(Fault::Echo(EchoError::TooLong {
                received: received + more as u64,
                sent,
            })),
            // It has ended too, or does not care that we have.
            _ => Ok(()),
        }
    }

    pub(super) fn silent(&self) -> Fault {
        let (sent, received) = self.echoes.bytes();
        Fault::Silent { sent, received }
    }

    pub(super) fn failed(&self, source: io::Error) -> Fault {
        let (sent, received) = self.echoes.bytes();
        Fault::Connection {
            sent,
            received,
            source,
        }
    }
}

/// What comes of an encrypted connection within `patience`; 0: its end.
fn last_of(
    encrypted: &mut dyn EncryptedConnection,
    fd: RawFd,
    patience: Duration,
) -> io::Result<usize> {
    let mut epoll = Epoll::new()?;
    epoll.watch(fd, For::Reading)?;
    let give_up_ns = monotonic_ns() + patience.as_nanos() as u64;
    loop {
        if let Some(count) = encrypted.receive(&mut [0; 4096])? {
            return Ok(count);
        }
        let left_ns = give_up_ns.saturating_sub(monotonic_ns());
        if left_ns == 0 {
            return Ok(0);
        }
        epoll.wait(i32::try_from(left_ns.div_ceil(1_000_000)).unwrap_or(i32::MAX))?;
    }
}
