//! What is ready on an epoll instance that somebody else made (epoll_wait(2)).

use std::{io, os::fd::RawFd};

/// So many are told at once; the others are told the next time.
const MOST: usize = 128;

/// A descriptor that is ready: for reading, for writing; an error or a hang-up is both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The descriptor, which was registered with itself as data (`epoll_data.fd`).
    pub fd: RawFd,
    /// Reading would not block.
    pub is_readable: bool,
    /// Writing would not block.
    pub is_writable: bool,
}

/// Wait until something is ready, for `timeout_ms` at most, -1 for ever; 0 asks and does not wait.
///
/// # Errors
/// `Interrupted` after a signal; otherwise `epoll_fd` is no epoll instance.
pub fn wait(epoll_fd: RawFd, timeout_ms: i32) -> io::Result<Vec<Ready>> {
    let mut events = [const { libc::epoll_event { events: 0, u64: 0 } }; MOST];
    // SAFETY: the kernel writes at most `MOST` events into `events`.
    let count = unsafe {
        libc::epoll_wait(
            epoll_fd,
            events.as_mut_ptr(),
            MOST as libc::c_int,
            timeout_ms,
        )
    };
    if count < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(events[..count as usize]
        .iter()
        .map(|event| {
            let bits = event.events;
            let [a, b, c, d, ..] = event.u64.to_ne_bytes();
            Ready {
                // A union: the descriptor comes first in memory.
                fd: RawFd::from_ne_bytes([a, b, c, d]),
                is_readable: bits & !(libc::EPOLLOUT as u32) != 0,
                is_writable: bits & !(libc::EPOLLIN as u32) != 0,
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{Read, Write},
        os::{
            fd::{AsRawFd, FromRawFd, OwnedFd},
            unix::net::UnixStream,
        },
    };

    fn epoll_of(fd: RawFd, events: libc::c_int) -> OwnedFd {
        // SAFETY: takes a number.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        assert!(epoll >= 0);
        // SAFETY: `epoll` was just created and belongs to nobody else.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: fd as u64,
        };
        // SAFETY: the kernel reads one event.
        let status =
            unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) };
        assert_eq!(status, 0);
        epoll
    }

    #[test]
    fn it_tells_what_is_ready_and_for_what() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let fd = ours.as_raw_fd();
        let reading = epoll_of(fd, libc::EPOLLIN);
        let both = epoll_of(fd, libc::EPOLLIN | libc::EPOLLOUT);
        let ready = |epoll: &OwnedFd| wait(epoll.as_raw_fd(), 0).unwrap();
        let told = |is_readable, is_writable| {
            vec![Ready {
                fd,
                is_readable,
                is_writable,
            }]
        };
        assert_eq!(ready(&reading), []);
        assert_eq!(ready(&both), told(false, true));
        theirs.write_all(b"x").unwrap();
        assert_eq!(ready(&reading), told(true, false));
        assert_eq!(ready(&both), told(true, true));
        ours.read_exact(&mut [0]).unwrap();
        assert_eq!(wait(reading.as_raw_fd(), 1).unwrap(), []);
        drop(theirs);
        assert_eq!(ready(&reading), told(true, true));
    }

    #[test]
    fn what_is_no_epoll_instance_is_an_error() {
        assert!(wait(-1, 0).is_err());
    }
}
