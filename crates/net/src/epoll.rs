//! Waiting for ready descriptors (epoll(7)), on an instance of ours or one made elsewhere.

use rustix::event::epoll::{self, CreateFlags};
use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    ptr,
};

/// The most descriptors that one wait reports; the next wait reports the others.
const MOST: usize = 128;
const NOTHING: libc::epoll_event = libc::epoll_event { events: 0, u64: 0 };

/// A descriptor that is ready for reading, for writing or both; an error or a hang-up counts as both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The descriptor, which was registered with itself as data (`epoll_data.fd`).
    pub fd: RawFd,
    /// Reading would not block.
    pub is_readable: bool,
    /// Writing would not block.
    pub is_writable: bool,
}

impl Ready {
    fn of(event: libc::epoll_event) -> Self {
        let bits = event.events;
        let [a, b, c, d, ..] = event.u64.to_ne_bytes();
        Self {
            // A union: the descriptor comes first in memory.
            fd: RawFd::from_ne_bytes([a, b, c, d]),
            is_readable: bits & !(libc::EPOLLOUT as u32) != 0,
            is_writable: bits & !(libc::EPOLLIN as u32) != 0,
        }
    }
}

/// What a descriptor is watched for; a hang-up and errors are always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Until it is readable.
    Reading,
    /// Until it is writable.
    Writing,
    /// Until it is one of the two.
    Both,
}

impl For {
    fn bits(self) -> u32 {
        let (reading, writing) = (libc::EPOLLIN as u32, libc::EPOLLOUT as u32);
        match self {
            For::Reading => reading,
            For::Writing => writing,
            For::Both => reading | writing,
        }
    }
}

/// A level-triggered epoll instance, and what its last wait reported.
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
    told: Vec<libc::epoll_event>,
}

impl Epoll {
    /// An instance that watches nothing.
    ///
    /// # Errors
    /// When the kernel has no descriptor to give.
    pub fn new() -> io::Result<Self> {
        let fd = epoll::create(CreateFlags::CLOEXEC)?;
        let told = vec![NOTHING; MOST];
        Ok(Self { fd, told })
    }

    /// Watch a descriptor until [`Epoll::unwatch`]: closing it does not end the watch while
    /// another descriptor stands for the same file.
    ///
    /// # Errors
    /// When it is watched already, or cannot be.
    pub fn watch(&self, fd: RawFd, what: For) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, what)
    }

    /// Change what a descriptor is watched for.
    ///
    /// # Errors
    /// When it is not watched.
    pub fn change(&self, fd: RawFd, what: For) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, what)
    }

    fn control(&self, operation: libc::c_int, fd: RawFd, what: For) -> io::Result<()> {
        let mut data = [0; 8];
        data[..4].copy_from_slice(&fd.to_ne_bytes());
        let mut event = libc::epoll_event {
            events: what.bits(),
            u64: u64::from_ne_bytes(data),
        };
        // SAFETY: the kernel reads one event.
        match unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Stop watching the descriptor, if it is watched.
    pub fn unwatch(&self, fd: RawFd) {
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

    /// Wait until something is ready, for `timeout_ms` at most, -1 for ever; 0 asks and does not
    /// wait. Returns how many descriptors are ready: see [`Epoll::ready`].
    ///
    /// # Errors
    /// `Interrupted` after a signal.
    pub fn wait(&mut self, timeout_ms: i32) -> io::Result<usize> {
        // SAFETY: `told` has MOST events.
        unsafe { wait_for(self.fd.as_raw_fd(), self.told.as_mut_ptr(), timeout_ms) }
    }

    /// A descriptor that the last wait reported, by index from 0; a copy, so that the caller may change
    /// watches.
    pub fn ready(&self, index: usize) -> Ready {
        Ready::of(self.told[index])
    }
}

/// Wait like [`Epoll::wait`] on an instance made elsewhere; returns what is ready.
///
/// # Errors
/// `Interrupted` after a signal; otherwise `epoll_fd` is no epoll instance.
pub fn wait(epoll_fd: RawFd, timeout_ms: i32) -> io::Result<Vec<Ready>> {
    // Left uninitialized: an event loop comes here in each iteration, and mostly nothing is ready.
    let mut told = [const { MaybeUninit::uninit() }; MOST];
    // SAFETY: `told` has room for MOST events.
    let count = unsafe { wait_for(epoll_fd, told.as_mut_ptr().cast(), timeout_ms) }?;
    let ready = told[..count].iter().map(|event| {
        // SAFETY: the kernel has written the first `count` events.
        Ready::of(unsafe { event.assume_init() })
    });
    Ok(ready.collect())
}

/// # Safety
/// `told` is valid for writing MOST events. The first of them, as many as are returned, are
/// initialized then.
unsafe fn wait_for(
    epoll_fd: RawFd,
    told: *mut libc::epoll_event,
    timeout_ms: i32,
) -> io::Result<usize> {
    // SAFETY: the kernel writes at most MOST events.
    let count = unsafe { libc::epoll_wait(epoll_fd, told, MOST as libc::c_int, timeout_ms) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{Read, Write},
        os::unix::net::UnixStream,
    };

    #[test]
    fn it_tells_what_is_ready_and_for_what() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let fd = ours.as_raw_fd();
        let (mut reading, mut writing) = (Epoll::new().unwrap(), Epoll::new().unwrap());
        reading.watch(fd, For::Reading).unwrap();
        writing.watch(fd, For::Writing).unwrap();
        assert!(writing.watch(fd, For::Writing).is_err());
        let told = |is_readable, is_writable| Ready {
            fd,
            is_readable,
            is_writable,
        };
        assert_eq!(reading.wait(0).unwrap(), 0);
        assert_eq!(writing.wait(0).unwrap(), 1);
        assert_eq!(writing.ready(0), told(false, true));
        theirs.write_all(b"x").unwrap();
        assert_eq!(reading.wait(-1).unwrap(), 1);
        assert_eq!(reading.ready(0), told(true, false));
        writing.change(fd, For::Both).unwrap();
        assert_eq!(writing.wait(0).unwrap(), 1);
        assert_eq!(writing.ready(0), told(true, true));
        ours.read_exact(&mut [0]).unwrap();
        assert_eq!(reading.wait(1).unwrap(), 0);
        writing.unwatch(fd);
        writing.unwatch(fd);
        assert!(writing.change(fd, For::Reading).is_err());
        assert_eq!(writing.wait(0).unwrap(), 0);
        drop(theirs);
        assert_eq!(
            wait(reading.fd.as_raw_fd(), -1).unwrap(),
            [told(true, true)]
        );
    }

    #[test]
    fn what_is_no_epoll_instance_is_an_error() {
        assert!(wait(-1, 0).is_err());
    }
}
