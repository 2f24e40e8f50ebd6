//! Options of a socket that another process has: neither netlink nor /proc tells them.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        linux::fs::MetadataExt,
    },
    ptr,
};

/// What decides when the kernel sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// TCP_NODELAY is set.
    pub is_nodelay: bool,
    /// TCP_CORK is set.
    pub is_corked: bool,
}

/// The options of socket `inode`, which process `pid` has as its descriptor `fd`; `None` when that is
/// another file by now.
///
/// We have a descriptor of the socket meanwhile (pidfd_getfd(2)), for some microseconds: what the
/// process closes in that time is closed when we let go.
///
/// # Errors
/// EPERM where this process may not trace that one (ptrace(2), PTRACE_MODE_ATTACH_REALCREDS), ESRCH and
/// EBADF when it or its descriptor is gone, ENOSYS before Linux 5.6.
pub fn options_of(pid: libc::pid_t, fd: RawFd, inode: u64) -> io::Result<Option<Options>> {
    let process = owned(|| {
        // SAFETY: takes two numbers.
        unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) }
    })?;
    let socket = File::from(owned(|| {
        // SAFETY: takes three numbers, the first of a descriptor that we have.
        unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) }
    })?);
    if socket.metadata()?.st_ino() != inode {
        return Ok(None);
    }
    Ok(Some(Options {
        is_nodelay: is_set(socket.as_raw_fd(), libc::TCP_NODELAY)?,
        is_corked: is_set(socket.as_raw_fd(), libc::TCP_CORK)?,
    }))
}

fn owned(make: impl FnOnce() -> libc::c_long) -> io::Result<OwnedFd> {
    let fd = make();
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made the descriptor, for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

fn is_set(fd: RawFd, option: libc::c_int) -> io::Result<bool> {
    let mut value: libc::c_int = 0;
    let mut length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel writes one int.
    let status = unsafe {
        libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            option,
            ptr::from_mut(&mut value).cast(),
            &mut length,
        )
    };
    match status {
        0 => Ok(value != 0),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, net::TcpListener, net::TcpStream, process};

    #[test]
    fn a_descriptor_of_a_process_tells_its_options() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let fd = stream.as_raw_fd();
        let path = format!("/proc/self/fd/{fd}");
        let inode = fs::metadata(path).unwrap().st_ino();
        let own = process::id() as libc::pid_t;
        for is_nodelay in [true, false] {
            stream.set_nodelay(is_nodelay).unwrap();
            let options = options_of(own, fd, inode).unwrap().unwrap();
            assert_eq!((options.is_nodelay, options.is_corked), (is_nodelay, false));
        }
        assert_eq!(options_of(own, listener.as_raw_fd(), inode).unwrap(), None);
        assert!(options_of(own, -1, inode).is_err());
        assert!(options_of(-1, fd, inode).is_err());
    }
}
