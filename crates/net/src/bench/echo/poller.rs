//! Which of many sockets are ready (epoll(7)), known by numbers of our own.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

/// So many are told at once; the others are told the next time.
const MOST: usize = 256;

/// What a descriptor is watched for; its end and its errors are told in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    Reading,
    Writing,
    Both,
}

impl Interest {
    fn bits(self) -> u32 {
        let (reading, writing) = (libc::EPOLLIN as u32, libc::EPOLLOUT as u32);
        match self {
            Interest::Reading => reading,
            Interest::Writing => writing,
            Interest::Both => reading | writing,
        }
    }
}

/// Something is ready; an error or an end is both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub token: u64,
    pub is_readable: bool,
    pub is_writable: bool,
}

/// An epoll instance, level-triggered, and what it told last.
#[derive(Debug)]
pub struct Poller {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poller {
    pub fn new() -> io::Result<Self> {
        // SAFETY: takes a number; the result is checked before it is owned.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just created and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let events = vec![libc::epoll_event { events: 0, u64: 0 }; MOST];
        Ok(Self { fd, events })
    }

    /// Watch a descriptor that is not watched.
    pub fn add(&self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest)
    }

    /// Watch a descriptor that is watched for something else.
    pub fn change(&self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest)
    }

    /// Watch it no longer, if it is watched.
    pub fn remove(&self, fd: RawFd) {
        // SAFETY: takes numbers; no event is read.
        unsafe {
            libc::epoll_ctl(
                self.fd.as_raw_fd(),
                libc::EPOLL_CTL_DEL,
                fd,
                ptr::null_mut(),
            );
        }
    }

    fn control(
        &self,
        operation: libc::c_int,
        fd: RawFd,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: interest.bits(),
            u64: token,
        };
        // SAFETY: the kernel reads one event.
        match unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Wait until something is ready, for `timeout_ms` at most, -1 for ever; 0 asks and does not
    /// wait. How many events there are: see [`Poller::event`].
    ///
    /// # Errors
    /// `Interrupted` after a signal.
    pub fn wait(&mut self, timeout_ms: i32) -> io::Result<usize> {
        // SAFETY: the kernel writes at most `MOST` events into `events`.
        let count = unsafe {
            libc::epoll_wait(
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                MOST as libc::c_int,
                timeout_ms,
            )
        };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// Event `index` of the last wait.
    pub fn event(&self, index: usize) -> Event {
        let event = self.events[index];
        let bits = event.events;
        Event {
            token: event.u64,
            is_readable: bits & !(libc::EPOLLOUT as u32) != 0,
            is_writable: bits & !(libc::EPOLLIN as u32) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Write, os::unix::net::UnixStream};

    #[test]
    fn it_tells_what_is_ready_by_number_and_for_what() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let fd = ours.as_raw_fd();
        let mut poller = Poller::new().unwrap();
        poller.add(fd, 1 << 40, Interest::Reading).unwrap();
        assert!(poller.add(fd, 2, Interest::Reading).is_err());
        assert_eq!(poller.wait(0).unwrap(), 0);
        theirs.write_all(b"x").unwrap();
        assert_eq!(poller.wait(-1).unwrap(), 1);
        let event = |token, is_readable, is_writable| Event {
            token,
            is_readable,
            is_writable,
        };
        assert_eq!(poller.event(0), event(1 << 40, true, false));
        poller.change(fd, 3, Interest::Writing).unwrap();
        assert_eq!(poller.wait(-1).unwrap(), 1);
        assert_eq!(poller.event(0), event(3, false, true));
        poller.change(fd, 4, Interest::Both).unwrap();
        assert_eq!(poller.wait(-1).unwrap(), 1);
        assert_eq!(poller.event(0), event(4, true, true));
        poller.remove(fd);
        poller.remove(fd);
        assert_eq!(poller.wait(0).unwrap(), 0);
    }
}
