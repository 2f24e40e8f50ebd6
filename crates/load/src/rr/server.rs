//! The server: one thread, one epoll instance, and a bound on everything that a client could make
//! large. No client stops it serving the others.

use super::{
    connection::{Connection, End, Lent},
    counts::Counts,
};
use crate::{
    messages::CallContent,
    socket::{admission::Admission, by_fd::ByFd, listening},
};
use rustix::net::sockopt;
use std::{
    io::{self, ErrorKind},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::{AsRawFd, RawFd},
};
use tinygram_net::{
    clock::{coarse_monotonic_ns, monotonic_ns, sleep_until_ns},
    epoll::{Epoll, For},
};

const BUFFER_BYTES: usize = 256 << 10;
/// The most accepts in a row; then the existing connections get their turn.
const ACCEPTS_AT_ONCE: usize = 64;
const LONGEST_SWEEP_MS: u64 = 1_000;
const NO_ROOM_NS: u64 = 10_000_000;

/// How the server listens, and what it tolerates.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// How many connections wait at most until they are accepted (listen(2)).
    pub backlog: i32,
    /// TCP_NODELAY of its connections.
    pub is_nodelay: bool,
    /// Whether TCP_QUICKACK is set again after each read.
    pub is_quickack: bool,
    /// When there are more, the one that has made no progress for the longest time is closed.
    pub max_connections: usize,
    /// A connection that completes no request and takes no reply for this long is closed.
    pub idle_ns: u64,
    /// Congestion control of its connections.
    pub congestion_control: String,
    /// Connections of others are closed at once.
    pub client: Admission,
}

/// A server that listens, and serves when it is run.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    epoll: Epoll,
    content: CallContent,
    options: ServerOptions,
    connections: ByFd<Connection>,
    counts: Counts,
    buffer: Vec<u8>,
}

impl Server {
    /// Listen on an address of this host; port 0: one that the kernel picks.
    ///
    /// # Errors
    /// When the address is not available, or the kernel refuses an option.
    pub fn listen(
        address: SocketAddr,
        content: CallContent,
        options: ServerOptions,
    ) -> io::Result<Self> {
        let control = Some(options.congestion_control.as_str());
        let listener = listening(address, control, options.backlog, options.client)?;
        sockopt::set_tcp_nodelay(&listener, options.is_nodelay)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            epoll: Epoll::new()?,
            content,
            options,
            connections: ByFd::default(),
            counts: Counts::default(),
            // Not zero, so that the pages are touched now.
            buffer: vec![1; BUFFER_BYTES],
        })
    }

    /// The port that the server listens on.
    ///
    /// # Errors
    /// When the socket is gone.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Serve until `stop_fd` is readable.
    ///
    /// # Errors
    /// When `stop_fd` cannot be watched, or epoll fails; never because of what a client does.
    pub fn run(mut self, stop_fd: RawFd) -> io::Result<Counts> {
        let listener_fd = self.listener.as_raw_fd();
        self.epoll.watch(stop_fd, For::Reading)?;
        self.epoll.watch(listener_fd, For::Reading)?;
        let sweep_ms = (self.options.idle_ns / 2_000_000).clamp(1, LONGEST_SWEEP_MS);
        let mut swept_ns = coarse_monotonic_ns();
        loop {
            let timeout_ms = if self.connections.is_empty() {
                -1
            } else {
                sweep_ms as i32
            };
            let count = match self.epoll.wait(timeout_ms) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                outcome => outcome?,
            };
            let now_ns = coarse_monotonic_ns();
            for index in 0..count {
                let fd = self.epoll.ready(index).fd;
                if fd == stop_fd {
                    return Ok(self.counts);
                }
                if fd == listener_fd {
                    self.accept(now_ns);
                } else {
                    self.serve(fd, now_ns);
                }
            }
            if now_ns.saturating_sub(swept_ns) >= sweep_ms * 1_000_000 {
                self.close_idle(now_ns);
                swept_ns = now_ns;
            }
        }
    }

    fn accept(&mut self, now_ns: u64) {
        for _ in 0..ACCEPTS_AT_ONCE {
            match self.listener.accept() {
                Ok((stream, peer)) if !self.options.client.admit(&stream, peer.ip()) => {
                    self.counts.strangers += 1;
                }
                Ok((stream, _)) => self.add(stream, now_ns),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Its client has gone: the others stay.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {
                    self.counts.failed_accepts += 1;
                }
                Err(error) => {
                    self.counts.failed_accepts += 1;
                    let errno = error.raw_os_error();
                    let lacks_descriptors = matches!(errno, Some(libc::EMFILE | libc::ENFILE));
                    // Without room or a pause this would spin.
                    if !(lacks_descriptors && self.evict()) {
                        sleep_until_ns(monotonic_ns() + NO_ROOM_NS);
                    }
                    return;
                }
            }
        }
    }

    fn add(&mut self, stream: TcpStream, now_ns: u64) {
        if self.connections.len() >= self.options.max_connections {
            self.evict();
        }
        let fd = stream.as_raw_fd();
        if self.epoll.watch(fd, For::Reading).is_err() {
            self.counts.failed_accepts += 1;
            return;
        }
        self.connections.insert(fd, Connection::new(stream, now_ns));
        let open = self.connections.len() as u64;
        self.counts.accepted += 1;
        self.counts.most_connections = self.counts.most_connections.max(open);
    }

    fn serve(&mut self, fd: RawFd, now_ns: u64) {
        // The connection may have been closed since it was ready.
        let Some(connection) = self.connections.get_mut(fd) else {
            return;
        };
        let mut lent = Lent {
            content: &self.content,
            is_quickack: self.options.is_quickack,
            buffer: &mut self.buffer,
            counts: &mut self.counts,
            now_ns,
        };
        match connection.on_ready(&mut lent) {
            Ok(wanted) if wanted == connection.watched => {}
            Ok(wanted) => {
                connection.watched = wanted;
                if self.epoll.change(fd, wanted).is_err() {
                    self.counts.failed_connections += 1;
                    self.close(fd);
                }
            }
            Err(end) => {
                match end {
                    End::Closed => {}
                    End::ShortRequest => self.counts.short_requests += 1,
                    End::WrongRequest => self.counts.wrong_requests += 1,
                    End::Failed => self.counts.failed_connections += 1,
                }
                self.close(fd);
            }
        }
    }

    /// Make room: close the connection with the least standing. False if there is none.
    fn evict(&mut self) -> bool {
        let laggard = self.connections.values().min_by_key(|each| each.standing());
        let Some(fd) = laggard.map(Connection::fd) else {
            return false;
        };
        self.counts.evicted_connections += 1;
        self.close(fd);
        true
    }

    fn close_idle(&mut self, now_ns: u64) {
        let idle_ns = self.options.idle_ns;
        let is_idle = |each: &&Connection| now_ns.saturating_sub(each.progress_ns()) >= idle_ns;
        let idle = self.connections.values().filter(is_idle);
        for fd in idle.map(Connection::fd).collect::<Vec<_>>() {
            self.counts.idle_connections += 1;
            self.close(fd);
        }
    }

    /// Close a connection: closing its only descriptor ends the watch, too.
    fn close(&mut self, fd: RawFd) {
        self.connections.remove(fd);
    }
}

#[cfg(test)]
mod tests;
