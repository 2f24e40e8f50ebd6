//! One connection of the server: the requests that came on it, and the replies that it is owed.

use super::counts::Counts;
use crate::{
    messages::{CallContent, RequestReader},
    socket::receive_now,
};
use rustix::net::sockopt;
use std::{
    io,
    net::TcpStream,
    os::fd::{AsRawFd, RawFd},
};
use tinygram_net::{clock::monotonic_ns, epoll::For, socket::send_now};

/// The things that the event loop lends to a connection that is ready.
#[derive(Debug)]
pub struct Lent<'a> {
    pub content: &'a CallContent,
    pub is_quickack: bool,
    pub buffer: &'a mut [u8],
    pub counts: &'a mut Counts,
    pub now_ns: u64,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The peer ended it after whole requests, and has all replies.
    Closed,
    /// The peer ended it in the middle of a request.
    ShortRequest,
    /// A byte was not the one that was to be sent.
    WrongRequest,
    /// The connection failed.
    Failed,
}

/// A connection that costs the same memory whatever its peer sends, and however much it is owed.
///
/// Law: while replies wait for room, nothing more is read.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    reader: RequestReader,
    /// Bytes of replies to all whole requests so far.
    due_bytes: u64,
    sent_bytes: u64,
    has_ended: bool,
    /// When it was accepted, or last completed a request or took bytes of a reply.
    progress_ns: u64,
    /// The time since which a request has come only in part.
    part_since_ns: Option<u64>,
    /// The readiness that it is watched for.
    pub watched: For,
}

impl Connection {
    pub fn new(stream: TcpStream, now_ns: u64) -> Self {
        Self {
            stream,
            reader: RequestReader::default(),
            due_bytes: 0,
            sent_bytes: 0,
            has_ended: false,
            progress_ns: now_ns,
            part_since_ns: None,
            watched: For::Reading,
        }
    }

    pub fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    pub fn progress_ns(&self) -> u64 {
        self.progress_ns
    }

    /// When there is no room, the connection with the least standing is closed first: it is the time of
    /// its last progress, and, within one tick of the clock, how many bytes it has asked for.
    pub fn standing(&self) -> (u64, u64) {
        (self.progress_ns, self.due_bytes)
    }

    /// Do what can be done now. Returns the readiness to watch for next.
    pub fn on_ready(&mut self, lent: &mut Lent<'_>) -> Result<For, End> {
        if self.due_bytes == self.sent_bytes {
            self.read(lent)?;
        }
        self.write(lent).map_err(|_| End::Failed)?;
        if self.due_bytes > self.sent_bytes {
            return Ok(For::Writing);
        }
        match self.has_ended {
            false => Ok(For::Reading),
            true if self.reader.is_between_requests(lent.content) => Err(End::Closed),
            true => Err(End::ShortRequest),
        }
    }

    fn read(&mut self, lent: &mut Lent<'_>) -> Result<(), End> {
        let Some(count) = receive_now(self.fd(), lent.buffer).map_err(|_| End::Failed)? else {
            return Ok(());
        };
        if count == 0 {
            self.has_ended = true;
            return Ok(());
        }
        lent.counts.reads += 1;
        if lent.is_quickack {
            sockopt::set_tcp_quickack(&self.stream, true).map_err(|_| End::Failed)?;
        }
        let completed = self
            .reader
            .push(lent.content, &lent.buffer[..count])
            .map_err(|_| End::WrongRequest)?;
        if completed > 0 {
            lent.counts.requests += completed;
            self.due_bytes += completed * lent.content.reply_bytes();
            self.progress_ns = lent.now_ns;
        }
        self.time_parts(lent, completed);
        Ok(())
    }

    /// Count how long the rest of a request took to come. A request that comes whole costs no look at a
    /// clock. The first one of all is left out: the bench withholds its end to see that the server waits.
    fn time_parts(&mut self, lent: &mut Lent<'_>, completed: u64) {
        let is_between = self.reader.is_between_requests(lent.content);
        if is_between && self.part_since_ns.is_none() {
            return;
        }
        let now_ns = monotonic_ns();
        if let Some(since_ns) = self.part_since_ns.take_if(|_| completed > 0) {
            if lent.counts.requests > completed {
                lent.counts.split_requests += 1;
                lent.counts.rest_ns += now_ns.saturating_sub(since_ns);
            }
        }
        if !is_between {
            self.part_since_ns.get_or_insert(now_ns);
        }
    }

    /// Write what is due, one buffer's length at most: other connections wait for their turn.
    fn write(&mut self, lent: &mut Lent<'_>) -> io::Result<()> {
        let due = self.due_bytes - self.sent_bytes;
        if due == 0 {
            return Ok(());
        }
        let part = lent.content.reply_part(self.sent_bytes);
        let sent = if part.len() as u64 == due {
            send_now(self.fd(), part, b"")?
        } else {
            let length = due.min(lent.buffer.len() as u64) as usize;
            let replies = &mut lent.buffer[..length];
            lent.content.fill_replies(self.sent_bytes, replies);
            send_now(self.fd(), replies, b"")?
        };
        if sent > 0 {
            lent.counts.writes += 1;
            self.sent_bytes += sent as u64;
            self.progress_ns = lent.now_ns;
        }
        Ok(())
    }
}
