//! Options of a socket that another process has: neither netlink nor /proc shows them.

use rustix::{
    io::Errno,
    net::sockopt,
    process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open},
};
use std::{
    fs::File,
    io,
    os::{fd::RawFd, linux::fs::MetadataExt},
};

/// The options that decide when the kernel sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// TCP_NODELAY is set.
    pub is_nodelay: bool,
    /// TCP_CORK is set.
    pub is_corked: bool,
}

/// The options of socket `inode`, which process `pid` has as its descriptor `fd`; `None` when `fd` is
/// another file by now.
///
/// We have a descriptor of the socket meanwhile (pidfd_getfd(2)), for some microseconds: if the process
/// closes the socket in that time, it is closed only when we close ours.
///
/// # Errors
/// EPERM if we may not trace the process (ptrace(2), PTRACE_MODE_ATTACH_REALCREDS), ESRCH and EBADF when
/// the process or its descriptor is gone, ENOSYS before Linux 5.6.
pub fn options_of(pid: libc::pid_t, fd: RawFd, inode: u64) -> io::Result<Option<Options>> {
    let pid = Pid::from_raw(pid.max(0)).ok_or(Errno::SRCH)?;
    if fd < 0 {
        return Err(Errno::BADF.into()); // rustix takes no such number.
    }
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let socket = File::from(pidfd_getfd(&process, fd, PidfdGetfdFlags::empty())?);
    if socket.metadata()?.st_ino() != inode {
        return Ok(None);
    }
    Ok(Some(Options {
        is_nodelay: sockopt::tcp_nodelay(&socket)?,
        is_corked: sockopt::tcp_cork(&socket)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        net::{TcpListener, TcpStream},
        os::fd::AsRawFd,
        process,
    };

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
