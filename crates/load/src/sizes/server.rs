//! The server of `sizes`: one thread, any number of connections, none of which can stop it.
//!
//! Laws: a peer costs a slot of fixed size, and there are so many slots and no more; when they are
//! taken, the connection that was silent the longest gives way; a peer is read for one message at a
//! time; what the protocol does not have ends in a reset. Nothing is compared or closed before the
//! peer, which keeps the time, has ended its side; and then, before it closes, the thread reads its CPU
//! clock. Each port has its own counts: cases that differ in more than their setups are distinguished by
//! the port.

use super::kept::{Memory, WrongByte};
use crate::{
    messages::{Event, Exchange, Limits},
    process::thread_cpu_ns,
    socket::{admission::Admission, by_fd::ByFd, listening, receive_now, reset_when_closed},
};
use rustix::net::sockopt;
use std::{
    io,
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::{AsRawFd, RawFd},
};
use thiserror::Error;
use tinygram_net::{
    clock::{monotonic_ns, sleep_until_ns},
    epoll::{Epoll, For},
    socket::send_now,
};

const BACKLOG: i32 = 4096;
/// A connection on which nothing comes for this long is ended.
const IDLE_NS: u64 = 60_000_000_000;
/// A peer that has all its acknowledgements has this long to end the connection; then we do.
const ENDING_NS: u64 = 10_000_000;
/// The most reads of one connection in a row; then the others have their turn.
const MAX_READS: usize = 64;
const NOTHING_TO_BE_HAD_PAUSE_NS: u64 = 10_000_000;

/// The options of a server.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// An address of this host; with port 0 the kernel picks one.
    pub address: SocketAddr,
    /// How many ports it listens on. The kernel picks all but the first.
    pub ports: usize,
    /// Limits of each setup.
    pub limits: Limits,
    /// The most connections at a time.
    pub max_connections: usize,
    /// Compare every byte: the content's seed, and how many bytes the largest sample has.
    pub compared: Option<(u64, usize)>,
    /// Connections of others are closed at once.
    pub client: Admission,
}

/// The counts of a port so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were accepted.
    pub connections: u64,
    /// Samples whose every message was acknowledged.
    pub samples: u64,
    /// Samples of these whose every byte was compared.
    pub compared_samples: u64,
    /// The bytes of the samples' messages.
    pub bytes: u64,
    /// Connections that were reset, because they asked for or sent something that is not accepted, ended
    /// too early, or could not be watched.
    pub refused: u64,
    /// Connections that gave way, or on which nothing came.
    pub idle: u64,
    /// Connections that were not of the client, and were closed at once.
    pub strangers: u64,
    /// CPU time of the serving thread for the samples, in nanoseconds, each from the end of the sample
    /// before it on any port. Closing a sample's connection is in that of the next one.
    pub cpu_ns: u64,
}

/// Why a server ended.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The kernel cannot go on; `Interrupted` after a signal, and `serve` may be called again.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A byte was wrong.
    #[error(transparent)]
    WrongByte(#[from] WrongByte),
}

#[derive(Debug)]
struct Peer {
    stream: TcpStream,
    /// The port that the connection came to, by its place.
    port: usize,
    exchange: Exchange,
    /// Bytes of all messages that its setup announced.
    bytes: u64,
    /// When bytes last came.
    active_ns: u64,
}

impl Peer {
    /// When we end the connection, unless bytes come.
    fn deadline_ns(&self) -> u64 {
        let patience_ns = if self.exchange.is_over() {
            ENDING_NS
        } else {
            IDLE_NS
        };
        self.active_ns.saturating_add(patience_ns)
    }
}

enum Step {
    Waits,
    Ended,
    Refused,
}

/// Listens, and serves when it is asked to.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<TcpListener>,
    /// Descriptor → place of its listener.
    port_of: ByFd<usize>,
    epoll: Epoll,
    options: Options,
    peers: ByFd<Peer>,
    memory: Memory,
    /// The counts of each listener.
    counts: Vec<Counts>,
    /// No peer's deadline is before this.
    next_sweep_ns: u64,
    /// The serving thread's CPU clock when the last sample ended.
    cpu_ns: u64,
}

impl Server {
    /// Listen; connections have this congestion control.
    ///
    /// # Errors
    /// When the address, the port or the congestion control is not available.
    pub fn listen(options: Options, congestion_control: &str) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        let mut listeners = Vec::with_capacity(options.ports);
        let mut address = options.address;
        for _ in 0..options.ports {
            let listener = listening(address, Some(congestion_control), BACKLOG, options.client)?;
            sockopt::set_tcp_nodelay(&listener, true)?;
            listener.set_nonblocking(true)?;
            epoll.watch(listener.as_raw_fd(), For::Reading)?;
            listeners.push(listener);
            address.set_port(0);
        }
        let fds = listeners.iter().map(AsRawFd::as_raw_fd);
        Ok(Self {
            port_of: fds.zip(0..).collect(),
            counts: vec![Counts::default(); listeners.len()],
            listeners,
            epoll,
            options,
            peers: ByFd::default(),
            memory: Memory::new(options.compared),
            next_sweep_ns: u64::MAX,
            cpu_ns: 0,
        })
    }

    /// The ports that the server listens on.
    ///
    /// # Errors
    /// When a socket is gone.
    pub fn ports(&self) -> io::Result<Vec<u16>> {
        let addresses = self.listeners.iter().map(TcpListener::local_addr);
        addresses
            .map(|address| address.map(|found| found.port()))
            .collect()
    }

    /// What came to each port so far.
    pub fn counts(&self) -> &[Counts] {
        &self.counts
    }

    /// Serve until `samples` have come and their connections have ended, or `stop_fd` is readable;
    /// `None`: until they have come.
    ///
    /// # Errors
    /// [`ServeError`]; never because of what a peer does, but for a wrong byte.
    pub fn serve(&mut self, samples: u64, stop_fd: Option<RawFd>) -> Result<(), ServeError> {
        if let Some(fd) = stop_fd {
            self.epoll.watch(fd, For::Reading)?;
        }
        self.cpu_ns = thread_cpu_ns();
        let served = self.serve_until(samples, stop_fd);
        if let Some(fd) = stop_fd {
            self.epoll.unwatch(fd);
        }
        served
    }

    fn serve_until(&mut self, samples: u64, stop_fd: Option<RawFd>) -> Result<(), ServeError> {
        while self.counts.iter().map(|each| each.samples).sum::<u64>() < samples {
            for index in 0..self.epoll.wait(self.timeout_ms())? {
                let ready = self.epoll.ready(index);
                if Some(ready.fd) == stop_fd {
                    return Ok(());
                }
                match self.port_of.get(ready.fd) {
                    Some(&port) => self.on_connection(port)?,
                    None => self.on_readable(ready.fd)?,
                }
            }
            self.end_silent()?;
        }
        Ok(())
    }

    fn timeout_ms(&self) -> i32 {
        if self.peers.is_empty() {
            return -1;
        }
        let wait_ns = self.next_sweep_ns.saturating_sub(monotonic_ns());
        wait_ns.div_ceil(1_000_000).min(60_000) as i32
    }

    fn on_connection(&mut self, port: usize) -> Result<(), ServeError> {
        let stream = match self.listeners[port].accept() {
            Ok((stream, peer)) if !self.options.client.admit(&stream, peer.ip()) => {
                self.counts[port].strangers += 1;
                return Ok(());
            }
            Ok((stream, _)) => stream,
            Err(error) => return self.on_accept_failed(error),
        };
        self.counts[port].connections += 1;
        if self.peers.len() >= self.options.max_connections {
            self.give_way()?;
        }
        let fd = stream.as_raw_fd();
        let peer = Peer {
            stream,
            port,
            exchange: Exchange::new(self.options.limits),
            bytes: 0,
            active_ns: monotonic_ns(),
        };
        self.next_sweep_ns = self.next_sweep_ns.min(peer.deadline_ns());
        self.peers.insert(fd, peer);
        // The connection's first bytes are often there already: read them before it is watched.
        self.on_readable(fd)?;
        if self.peers.get(fd).is_some() && self.epoll.watch(fd, For::Reading).is_err() {
            // The kernel has no memory, or no watch, for one more connection: the others go on.
            self.counts[port].refused += 1;
            self.reset(fd);
            pause();
        }
        Ok(())
    }

    /// Faults of the peer or the network are not ours (accept(2)); if descriptors or memory are missing,
    /// a connection gives way, or we wait a little: the new one stays in the queue until then.
    fn on_accept_failed(&mut self, error: io::Error) -> Result<(), ServeError> {
        match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                if self.peers.is_empty() {
                    pause();
                }
                self.give_way()
            }
            Some(libc::EBADF | libc::EINVAL | libc::ENOTSOCK) => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn on_readable(&mut self, fd: RawFd) -> Result<(), ServeError> {
        let Some(peer) = self.peers.get_mut(fd) else {
            return Ok(());
        };
        match proceed(peer, &mut self.memory) {
            Step::Waits => {
                peer.active_ns = monotonic_ns();
                self.next_sweep_ns = self.next_sweep_ns.min(peer.deadline_ns());
                Ok(())
            }
            Step::Ended => self.end(fd),
            Step::Refused => {
                self.counts[peer.port].refused += 1;
                self.reset(fd);
                Ok(())
            }
        }
    }

    /// A whole sample: compare it, then let its connection go.
    fn end(&mut self, fd: RawFd) -> Result<(), ServeError> {
        let Some(peer) = self.peers.remove(fd) else {
            return Ok(());
        };
        let is_compared = self.memory.compare(fd)?;
        // The client waits for us to close, which is in no time that it takes.
        let before_ns = std::mem::replace(&mut self.cpu_ns, thread_cpu_ns());
        let counts = &mut self.counts[peer.port];
        counts.cpu_ns += self.cpu_ns - before_ns;
        counts.samples += 1;
        counts.compared_samples += u64::from(is_compared);
        counts.bytes += peer.bytes;
        Ok(())
    }

    fn reset(&mut self, fd: RawFd) {
        self.memory.forget(fd);
        if let Some(peer) = self.peers.remove(fd) {
            // This fails only for a descriptor that is no socket.
            let _is_set = reset_when_closed(&peer.stream);
        }
    }

    /// End the connection that was silent the longest.
    fn give_way(&mut self) -> Result<(), ServeError> {
        let silent = self.peers.iter().min_by_key(|(_, peer)| peer.active_ns);
        match silent.map(|(fd, _)| fd) {
            Some(fd) => self.end_silent_one(fd),
            None => Ok(()),
        }
    }

    fn end_silent(&mut self) -> Result<(), ServeError> {
        let now_ns = monotonic_ns();
        if now_ns < self.next_sweep_ns {
            return Ok(());
        }
        let late: Vec<RawFd> = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.deadline_ns() <= now_ns)
            .map(|(fd, _)| fd)
            .collect();
        for fd in late {
            self.end_silent_one(fd)?;
        }
        let deadlines = self.peers.values().map(Peer::deadline_ns);
        self.next_sweep_ns = deadlines.min().unwrap_or(u64::MAX);
        Ok(())
    }

    fn end_silent_one(&mut self, fd: RawFd) -> Result<(), ServeError> {
        let Some(peer) = self.peers.get(fd) else {
            return Ok(());
        };
        if peer.exchange.is_over() {
            return self.end(fd);
        }
        self.counts[peer.port].idle += 1;
        self.reset(fd);
        Ok(())
    }
}

/// Pause after a lack of resources, which may end soon; asking again and again would take the core.
fn pause() {
    sleep_until_ns(monotonic_ns() + NOTHING_TO_BE_HAD_PAUSE_NS);
}

/// Read what is there, until a message is whole, and acknowledge it.
fn proceed(peer: &mut Peer, memory: &mut Memory) -> Step {
    let fd = peer.stream.as_raw_fd();
    for _ in 0..MAX_READS {
        // When all has come, ask for one more byte: if it comes, it is one too many.
        let target = memory.target(fd, peer.exchange.wanted().max(1));
        let count = match receive_now(fd, target) {
            Ok(None) => return Step::Waits,
            Ok(Some(0)) if peer.exchange.is_over() => return Step::Ended,
            Ok(Some(0)) | Err(_) => return Step::Refused,
            Ok(Some(count)) => count,
        };
        match peer.exchange.push(&target[..count]) {
            Ok(Event::Nothing) => memory.filled(fd, count),
            Ok(Event::Accepted(setup)) => {
                memory.begin(fd, setup);
                peer.bytes = setup.sample_bytes();
            }
            Ok(Event::Acknowledge(bytes)) => {
                // The acknowledgements that a client awaits fit: a client that reads none is refused.
                let is_sent = send_now(fd, &bytes, b"").is_ok_and(|sent| sent == bytes.len());
                memory.filled(fd, count);
                return if is_sent { Step::Waits } else { Step::Refused };
            }
            Err(_) => return Step::Refused,
        }
    }
    Step::Waits
}
