//! A socket on which Nagle's algorithm withholds nothing from one slice to the next.

use std::os::fd::RawFd;
use tinygram_net::socket::push_out;

/// Bytes that are withheld after a slice's last message are pushed out, and so are those after its first
/// message: the acknowledgement of the former may be delayed, and a second segment ends the delay.
#[derive(Debug)]
pub(super) struct Pushed {
    fd: RawFd,
    /// The present slice, and the message that was next when the slice became the present one.
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
        // If the connection has failed, the sender learns of it at its next write.
        drop(push_out(self.fd));
    }
}
