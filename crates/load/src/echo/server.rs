//! The native echo server: one thread that sends back what it reads, over epoll(7).
//!
//! Peers may send anything, at any speed, or nothing at all: a connection costs bounded memory, and
//! when there are too many, the one that has been silent for the longest time is ended.

use super::{
    bounds::most_connections,
    connection::{Connection, Outcome},
    reply::Reply,
};
use crate::{
    socket::{admission::Admission, by_fd::ByFd, listening},
    write_counts,
};
use std::{
    io::{self, ErrorKind},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::{AsRawFd, RawFd},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tinygram_net::{
    clock::{monotonic_ns, sleep_until_ns},
    epoll::{Epoll, For, Ready},
    timer::TimerFd,
};

const BACKLOG: i32 = 4096;
/// Connections accepted in a row before the existing ones get their turn.
const MOST_ACCEPTS: usize = 64;
const NO_DESCRIPTORS_PAUSE_NS: u64 = 10_000_000;

/// How the server works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// An address of this host; with port 0 the kernel picks one.
    pub address: SocketAddr,
    /// What goes back, and when.
    pub reply: Reply,
    /// Bytes per read at most, at least 1.
    pub buffer_bytes: usize,
    /// Pinned on each connection; `None`: the kernel's own choice.
    pub congestion_control: Option<String>,
    /// When there are more, the one that has been silent for the longest time is ended. `None`: as many
    /// as together keep no more than 1 GiB, but at most 4,096, and no more than the process's limit of
    /// descriptors allows.
    pub max_connections: Option<usize>,
    /// Connections of others are closed at once.
    pub client: Admission,
}

/// The counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were accepted.
    pub accepted: u64,
    /// Connections that were ended to make room for others.
    pub evicted_connections: u64,
    /// The most connections at a time.
    pub most_connections: u64,
}

/// An echo server.
#[derive(Debug)]
pub struct EchoServer {
    listener: TcpListener,
    epoll: Epoll,
    timer: TimerFd,
    reply: Reply,
    /// One buffer for all connections: the bytes of a read go back, or are copied, before the next read.
    buffer: Vec<u8>,
    connections: ByFd<Connection>,
    /// Connections that hold messages for a time, by descriptor.
    holding: Vec<RawFd>,
    max_connections: usize,
    client: Admission,
    activity: u64,
    counts: Counts,
    strangers: Arc<AtomicU64>,
}

impl EchoServer {
    /// Listen.
    ///
    /// # Errors
    /// When the address, the port or the congestion control is not available.
    pub fn listen(settings: &Settings) -> io::Result<Self> {
        let control = settings.congestion_control.as_deref();
        let listener = listening(settings.address, control, BACKLOG, settings.client)?;
        listener.set_nonblocking(true)?;
        let (epoll, timer) = (Epoll::new()?, TimerFd::new()?);
        epoll.watch(listener.as_raw_fd(), For::Reading)?;
        epoll.watch(timer.as_raw_fd(), For::Reading)?;
        let max_connections = settings
            .max_connections
            .unwrap_or_else(|| most_connections(settings.reply, settings.buffer_bytes));
        Ok(Self {
            listener,
            epoll,
            timer,
            reply: settings.reply,
            // Not zero, so that the pages are touched now.
            buffer: vec![1; settings.buffer_bytes.max(1)],
            connections: ByFd::default(),
            holding: Vec::new(),
            max_connections: max_connections.max(1),
            client: settings.client,
            activity: 0,
            counts: Counts::default(),
            strangers: Arc::default(),
        })
    }

    /// The port it listens on.
    ///
    /// # Errors
    /// When the socket is gone.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How many connections were not of the client, and were closed at once; it goes on counting
    /// while the server serves.
    pub fn strangers(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.strangers)
    }

    /// Serve whoever connects until `stop_fd` is readable; `None`: without end.
    ///
    /// # Errors
    /// When `stop_fd` cannot be watched, or epoll or the timer fails; never because of a connection.
    pub fn serve(&mut self, stop_fd: Option<RawFd>) -> io::Result<()> {
        if let Some(fd) = stop_fd {
            self.epoll.watch(fd, For::Reading)?;
        }
        let served = self.serve_until(stop_fd);
        if let Some(fd) = stop_fd {
            self.epoll.unwatch(fd);
        }
        served
    }

    fn serve_until(&mut self, stop_fd: Option<RawFd>) -> io::Result<()> {
        let (listener_fd, timer_fd) = (self.listener.as_raw_fd(), self.timer.as_raw_fd());
        // Whether nothing waits for the loop to turn again.
        let mut may_wait = true;
        loop {
            let count = match self.epoll.wait(if may_wait { -1 } else { 0 }) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                outcome => outcome?,
            };
            for index in 0..count {
                let ready = self.epoll.ready(index);
                if Some(ready.fd) == stop_fd {
                    return Ok(());
                }
                if ready.fd == listener_fd {
                    self.accept();
                } else if ready.fd == timer_fd {
                    self.timer.take()?;
                } else {
                    self.on_ready(ready);
                }
            }
            may_wait = self.holding.is_empty();
            if !may_wait {
                // With nothing ready the loop is about to wait.
                self.tick(count == 0)?;
                may_wait = count == 0 || self.holding.is_empty();
            }
        }
    }

    fn on_ready(&mut self, ready: Ready) {
        self.activity += 1;
        // The connection may have been ended since.
        let Some(connection) = self.connections.get_mut(ready.fd) else {
            return;
        };
        connection.last_active = self.activity;
        let mut outcome = Ok(Outcome::Goes);
        if ready.is_writable {
            outcome = connection.on_writable();
        }
        if ready.is_readable && matches!(outcome, Ok(Outcome::Goes | Outcome::Holds)) {
            outcome = connection.on_readable(&mut self.buffer);
        }
        self.settle(ready.fd, outcome);
    }

    /// Do what is to be done with a connection next.
    fn settle(&mut self, fd: RawFd, outcome: io::Result<Outcome>) {
        let Some(connection) = self.connections.get_mut(fd) else {
            return;
        };
        let wanted = connection.wanted();
        let is_over = match outcome {
            // A connection that failed is over; the others go on.
            Err(_) | Ok(Outcome::Over) => true,
            Ok(Outcome::Holds) if !self.holding.contains(&fd) => {
                self.holding.push(fd);
                false
            }
            Ok(Outcome::Goes | Outcome::Holds) => false,
        };
        if is_over {
            self.end(fd);
        } else if wanted != connection.watched {
            connection.watched = wanted;
            if self.epoll.change(fd, wanted).is_err() {
                self.end(fd);
            }
        }
    }

    /// Tick the connections that hold messages; `will_wait`: there is nothing else to do.
    fn tick(&mut self, will_wait: bool) -> io::Result<()> {
        let now_ns = monotonic_ns();
        let mut deadline_ns = u64::MAX;
        for fd in std::mem::take(&mut self.holding) {
            let Some(connection) = self.connections.get_mut(fd) else {
                continue;
            };
            let outcome = connection.on_tick(now_ns, will_wait);
            if let Some(at_ns) = connection.deadline_ns() {
                deadline_ns = deadline_ns.min(at_ns);
            }
            self.settle(fd, outcome);
        }
        if will_wait && !self.holding.is_empty() {
            self.timer.set(deadline_ns)?;
        }
        Ok(())
    }

    fn accept(&mut self) {
        for _ in 0..MOST_ACCEPTS {
            match self.listener.accept() {
                Ok((stream, peer)) if !self.client.admit(&stream, peer.ip()) => {
                    self.strangers.fetch_add(1, Relaxed);
                }
                Ok((stream, _)) => self.begin(stream),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    // No descriptor or memory is left: end the connection that was silent the longest.
                    _ => {
                        if !self.evict() {
                            sleep_until_ns(monotonic_ns() + NO_DESCRIPTORS_PAUSE_NS);
                        }
                        return;
                    }
                },
            }
        }
    }

    fn begin(&mut self, stream: TcpStream) {
        if self.connections.len() >= self.max_connections {
            self.evict();
        }
        self.activity += 1;
        // If the connection has ended meanwhile, its options cannot be set.
        let Ok(connection) = Connection::new(stream, self.reply, self.activity) else {
            return;
        };
        let fd = connection.fd();
        // If writes are counted and those of this connection are not, the count of bytes shows it.
        let _is_counted = write_counts::watch_also(&[fd]);
        if self.epoll.watch(fd, For::Reading).is_err() {
            return;
        }
        self.connections.insert(fd, connection);
        let open = self.connections.len() as u64;
        self.counts.accepted += 1;
        self.counts.most_connections = self.counts.most_connections.max(open);
    }

    /// End a connection: closing its only descriptor ends the watch, too.
    fn end(&mut self, fd: RawFd) {
        if self.connections.remove(fd).is_some() {
            self.holding.retain(|&held| held != fd);
        }
    }

    /// Make room: end the connection that has been silent the longest. False if there is none.
    fn evict(&mut self) -> bool {
        let silent = self.connections.values();
        let Some(fd) = silent
            .min_by_key(|connection| connection.last_active)
            .map(Connection::fd)
        else {
            return false;
        };
        self.counts.evicted_connections += 1;
        self.end(fd);
        true
    }
}
