//! How many of the bytes that a connection wrote the peer's kernel has acknowledged.

use crate::{
    clock::{monotonic_ns, sleep_until_ns},
    socket,
};
use std::os::fd::RawFd;

/// The first pause between two looks at the peer's acknowledgements; each pause is twice the last one,
/// up to the longest.
const FIRST_LOOK_NS: u64 = 20_000;
const LONGEST_LOOK_NS: u64 = 5_000_000;
/// `tcpi_state` of a connection that is over, or was never made (linux/tcp_states.h).
const TCP_CLOSE: u8 = 7;

/// The start of our bytes in the socket's own count.
#[derive(Debug)]
pub(super) struct Acknowledged {
    /// How many bytes the peer will have acknowledged before the first of ours; `None` where nobody
    /// acknowledges (Unix sockets).
    before: Option<u64>,
}

/// Why the peer has not acknowledged all.
pub(super) enum Unacknowledged {
    TimedOut {
        unknown_bytes: u64,
    },
    /// The connection ended with this errno: the peer will never acknowledge the rest.
    Ended(i32),
}

impl Acknowledged {
    /// Count the bytes that are written to `fd` from now on.
    pub(super) fn from_now_on(fd: RawFd) -> Self {
        Self {
            before: acknowledged_before(fd),
        }
    }

    /// How many of our bytes the peer has acknowledged; 0 where the socket does not tell.
    pub(super) fn bytes(&self, fd: RawFd) -> u64 {
        match (self.before, socket::tcp_info(fd)) {
            (Some(before), Ok(info)) => info.tcpi_bytes_acked.saturating_sub(before),
            _ => 0,
        }
    }

    /// Wait until our first `bytes` are acknowledged, or this side has given them up; where nobody
    /// acknowledges, it is enough that our kernel has taken them.
    pub(super) fn wait(
        &self,
        fd: RawFd,
        bytes: u64,
        until_ns: u64,
        is_given_up: impl Fn() -> bool,
    ) -> Result<(), Unacknowledged> {
        let Some(before) = self.before else {
            return Ok(());
        };
        let mut look_ns = FIRST_LOOK_NS;
        while let Ok(info) = socket::tcp_info(fd) {
            let acknowledged_bytes = info.tcpi_bytes_acked.saturating_sub(before);
            let unknown_bytes = bytes.saturating_sub(acknowledged_bytes);
            if unknown_bytes == 0 {
                break;
            }
            if is_given_up() {
                return Err(Unacknowledged::Ended(libc::ECONNABORTED));
            }
            if info.tcpi_state == TCP_CLOSE {
                let errno = socket::take_error(fd).unwrap_or(libc::ECONNRESET);
                return Err(Unacknowledged::Ended(errno));
            }
            let now_ns = monotonic_ns();
            if now_ns >= until_ns {
                return Err(Unacknowledged::TimedOut { unknown_bytes });
            }
            sleep_until_ns(until_ns.min(now_ns + look_ns));
            look_ns = (2 * look_ns).min(LONGEST_LOOK_NS);
        }
        Ok(())
    }
}

fn acknowledged_before(fd: RawFd) -> Option<u64> {
    // The sum of the two readings is wrong if an acknowledgement comes between them: read again then.
    let mut queued_bytes = socket::send_queue_bytes(fd).ok()?;
    loop {
        let acknowledged_bytes = socket::tcp_info(fd).ok()?.tcpi_bytes_acked;
        let queued_after = socket::send_queue_bytes(fd).ok()?;
        if queued_after == queued_bytes {
            return Some(acknowledged_bytes + queued_bytes);
        }
        queued_bytes = queued_after;
    }
}
