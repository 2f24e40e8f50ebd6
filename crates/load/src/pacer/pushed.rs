//! A socket on which Nagle's algorithm withholds nothing from one slice to the next.

use std::os::fd::RawFd;
use tinygram_net::socket::push_out;

/// What a slice's last message leaves withheld is pushed out, and so is what its first one does: the
/// acknowledgement of what was pushed out before may be delayed, and with a second segment it no
/// longer is.
#[derive(Debug)]
pub(super) struct Pushed {
    fd: RawFd,
    /// The slice of the message that was next, when that was first told of the slice; and it.
    slice: Option<usize>,
    first: u64,
    is_first_sent: bool,
}

impl Pushed {
    pub(super) fn new(fd: RawFd) -> Self {
        Self {
            fd,
            slice: None,
            first: 0,
            is_first_sent: true,
        }
    }

    /// Message `next` is the next one, and due in this slice; `None`: there is none. Those before it
    /// have been sent.
    pub(super) fn before(&mut self, next: u64, slice: Option<usize>) {
        if slice != self.slice {
            (self.slice, self.first, self.is_first_sent) = (slice, next, false);
        } else if !self.is_first_sent && next > self.first {
            self.is_first_sent = true;
        } else {
            return;
        }
        // What is wrong with the connection, the sender hears at its next write.
        drop(push_out(self.fd));
    }
}
