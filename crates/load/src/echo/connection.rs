//! One connection of the server: the bytes that it read and has not sent back yet.

use super::reply::Reply;
use crate::{messages::Cutter, socket::receive_now};
use std::{
    io,
    net::TcpStream,
    os::fd::{AsRawFd, RawFd},
};
use tinygram_core::{Coalescer, Next, Reason};
use tinygram_net::{clock::monotonic_ns, epoll::For, socket::send_now};

/// A connection. It holds no more than the bytes of one read, and an incomplete message: while the
/// kernel takes nothing, nothing more is read.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    replies: Replies,
    /// The readiness that it is watched for.
    pub watched: For,
    /// When it was last active, in the server's own count.
    pub last_active: u64,
    /// Whether the peer sends no more: the rest is sent back, and then the connection is over.
    has_ended: bool,
}

#[derive(Debug)]
enum Replies {
    PerRead {
        /// The bytes that the kernel did not take; it has since taken the first `sent` of them.
        unsent: Vec<u8>,
        sent: usize,
        /// The fault under test: the whole buffer goes back, however little was read.
        is_whole_buffer: bool,
    },
    PerMessage {
        cutter: Cutter,
        coalescer: Box<Coalescer>,
    },
}

/// What is to be done with a connection next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on.
    Goes,
    /// It holds messages, and must be ticked.
    Holds,
    /// It is over.
    Over,
}

impl Connection {
    pub fn new(stream: TcpStream, reply: Reply, last_active: u64) -> io::Result<Self> {
        let replies = match reply {
            Reply::PerRead { is_whole_buffer } => {
                stream.set_nodelay(true)?;
                Replies::PerRead {
                    unsent: Vec::new(),
                    sent: 0,
                    is_whole_buffer,
                }
            }
            Reply::PerMessage {
                message_bytes,
                knobs,
            } => {
                stream.set_nodelay(knobs.strategy.wants_nodelay())?;
                let coalescer = Coalescer::of_resting_loop(knobs).map_err(io::Error::other)?;
                Replies::PerMessage {
                    cutter: Cutter::new(message_bytes),
                    coalescer: Box::new(coalescer),
                }
            }
        };
        Ok(Self {
            stream,
            replies,
            watched: For::Reading,
            last_active,
            has_ended: false,
        })
    }

    pub fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Read once, and reply.
    pub fn on_readable(&mut self, buffer: &mut [u8]) -> io::Result<Outcome> {
        if self.is_blocked() {
            // The connection has ended or failed: the next write reports that.
            return Ok(Outcome::Goes);
        }
        let fd = self.fd();
        let count = match receive_now(fd, buffer)? {
            None => return Ok(Outcome::Goes),
            Some(0) => return self.on_end(),
            Some(count) => count,
        };
        match &mut self.replies {
            Replies::PerRead {
                unsent,
                is_whole_buffer,
                ..
            } => {
                let reply = if *is_whole_buffer {
                    &*buffer
                } else {
                    &buffer[..count]
                };
                let taken = send_now(fd, reply, &[])?;
                unsent.extend_from_slice(&reply[taken..]);
            }
            Replies::PerMessage { cutter, coalescer } => {
                cutter.cut(&buffer[..count], |message| send(fd, coalescer, message))?;
            }
        }
        Ok(self.outcome())
    }

    /// The kernel takes bytes again.
    pub fn on_writable(&mut self) -> io::Result<Outcome> {
        let fd = self.fd();
        match &mut self.replies {
            Replies::PerRead { unsent, sent, .. } => {
                if !unsent.is_empty() {
                    *sent += send_now(fd, &unsent[*sent..], &[])?;
                }
                if *sent == unsent.len() {
                    // The memory is given back: most connections never need it.
                    *unsent = Vec::new();
                    *sent = 0;
                }
            }
            Replies::PerMessage { coalescer, .. } => {
                if coalescer.is_blocked() && coalescer.on_writable() {
                    write(fd, coalescer, &[], Reason::Writable)?;
                }
            }
        }
        Ok(self.outcome())
    }

    /// An iteration of the loop ends, or a hold may be over.
    pub fn on_tick(&mut self, now_ns: u64, will_block: bool) -> io::Result<Outcome> {
        let fd = self.fd();
        if let Replies::PerMessage { coalescer, .. } = &mut self.replies {
            if let Next::Write(reason) = coalescer.on_tick(now_ns, will_block) {
                write(fd, coalescer, &[], reason)?;
            }
        }
        Ok(self.outcome())
    }

    /// The peer sends no more: send back what is held, and an incomplete message, now.
    fn on_end(&mut self) -> io::Result<Outcome> {
        self.has_ended = true;
        let fd = self.fd();
        if let Replies::PerMessage { cutter, coalescer } = &mut self.replies {
            let rest = cutter.take_rest();
            write(fd, coalescer, &rest, Reason::Asked)?;
        }
        Ok(self.outcome())
    }

    /// When a tick is due at the latest; `None`: no tick is due.
    pub fn deadline_ns(&self) -> Option<u64> {
        match &self.replies {
            Replies::PerRead { .. } => None,
            Replies::PerMessage { coalescer, .. } => coalescer.deadline_ns(),
        }
    }

    /// The readiness that the connection is to be watched for.
    pub fn wanted(&self) -> For {
        if self.is_blocked() {
            For::Writing
        } else {
            For::Reading
        }
    }

    fn is_blocked(&self) -> bool {
        match &self.replies {
            Replies::PerRead { unsent, .. } => !unsent.is_empty(),
            Replies::PerMessage { coalescer, .. } => coalescer.is_blocked(),
        }
    }

    fn outcome(&self) -> Outcome {
        if self.deadline_ns().is_some() {
            Outcome::Holds
        } else if self.has_ended && !self.is_blocked() {
            Outcome::Over
        } else {
            Outcome::Goes
        }
    }
}

/// Hand one message over to be sent when the strategy says so.
fn send(fd: RawFd, coalescer: &mut Coalescer, message: &[u8]) -> io::Result<()> {
    loop {
        match coalescer.on_message(message, monotonic_ns) {
            Next::Wait | Next::Arm => return Ok(()),
            Next::Write(reason) => return write(fd, coalescer, message, reason),
            Next::WriteFirst => write(fd, coalescer, &[], Reason::Full)?,
            // This needs a `max_buffered_bytes`, which is not set here.
            Next::Refuse => return Err(io::Error::other("there is no room for a message")),
        }
    }
}

/// Write what is pending and then `message`, as far as the kernel takes it.
fn write(
    fd: RawFd,
    coalescer: &mut Coalescer,
    mut message: &[u8],
    reason: Reason,
) -> io::Result<()> {
    while !(coalescer.pending().is_empty() && message.is_empty()) {
        let start_ns = monotonic_ns();
        let taken = send_now(fd, coalescer.pending(), message)?;
        coalescer.on_written(taken, message, reason, start_ns, monotonic_ns());
        message = &[];
        if taken == 0 {
            coalescer.on_blocked();
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::bounds::most_kept_bytes;
    use std::{io::Write, net::TcpListener};
    use tinygram_core::{Knobs, Strategy};

    const BUFFER_BYTES: usize = 1 << 20;

    fn kept_bytes(connection: &Connection) -> usize {
        match &connection.replies {
            Replies::PerRead { unsent, .. } => unsent.capacity(),
            Replies::PerMessage { coalescer, .. } => coalescer.pending().len(),
        }
    }

    #[test]
    fn one_who_takes_nothing_is_kept_no_more_for_than_is_reckoned_with() {
        let per_message = |message_bytes| Reply::PerMessage {
            message_bytes,
            knobs: Knobs::new(Strategy::Tick),
        };
        let per_read = Reply::PerRead {
            is_whole_buffer: false,
        };
        for reply in [per_read, per_message(10), per_message(3 << 20)] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            peer.set_nonblocking(true).unwrap();
            let mut connection = Connection::new(listener.accept().unwrap().0, reply, 0).unwrap();
            let mut buffer = vec![0; BUFFER_BYTES];
            let mut most_bytes = 0;
            // It is blocked while the peer's bytes fill its own buffers.
            while !(connection.is_blocked() && peer.write(&buffer).is_err()) {
                let _full = peer.write(&[1; BUFFER_BYTES]);
                connection.on_readable(&mut buffer).unwrap();
                connection.on_tick(0, true).unwrap();
                most_bytes = most_bytes.max(kept_bytes(&connection));
            }
            assert!(most_bytes > 0);
            assert!(most_bytes <= most_kept_bytes(reply, BUFFER_BYTES));
        }
    }
}
