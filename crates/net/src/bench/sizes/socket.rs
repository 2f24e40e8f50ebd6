//! System calls that the standard library does not have in this form.

use std::{
    io,
    net::{SocketAddrV4, TcpStream},
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

/// A TCP socket of IPv4 that is not connected yet, for options that must come before.
///
/// # Errors
/// When the kernel has no descriptor to give.
pub fn unconnected() -> io::Result<TcpStream> {
    // SAFETY: takes numbers; the result is checked before it is owned.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just created and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) }.into())
}

/// Connect a socket; waits as long as its write timeout says.
///
/// # Errors
/// What the kernel says; `TimedOut` at the end of the timeout.
pub fn connect(socket: &TcpStream, address: SocketAddrV4) -> io::Result<()> {
    let target = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes(address.ip().octets()),
        },
        sin_zero: [0; 8],
    };
    // SAFETY: the kernel reads one sockaddr_in, of the length told.
    let status = unsafe {
        libc::connect(
            socket.as_raw_fd(),
            ptr::from_ref(&target).cast(),
            size_of_val(&target) as libc::socklen_t,
        )
    };
    if status == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // What SO_SNDTIMEO makes of a connect that takes too long (socket(7)).
        Some(libc::EINPROGRESS) => Err(io::ErrorKind::TimedOut.into()),
        _ => Err(error),
    }
}

/// Read what is there, without waiting; `None`: nothing is, 0: the peer sends no more.
///
/// # Errors
/// What the kernel says of the connection.
pub fn receive_now(fd: RawFd, target: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        // SAFETY: the kernel writes at most `target.len()` bytes into `target`.
        let count = unsafe {
            libc::recv(
                fd,
                target.as_mut_ptr().cast(),
                target.len(),
                libc::MSG_DONTWAIT,
            )
        };
        if count >= 0 {
            return Ok(Some(count as usize));
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => return Ok(None),
            _ => return Err(error),
        }
    }
}

/// Let the close of this socket reset the connection, so that its peer cannot take the end for a
/// good one.
pub fn reset_when_closed(fd: RawFd) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: SO_LINGER reads a struct linger. It fails only on what is no socket.
    unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            ptr::from_ref(&linger).cast(),
            size_of_val(&linger) as libc::socklen_t,
        )
    };
}

/// Keep the calling thread on one core.
///
/// # Errors
/// When there is no such core, or this process may not use it.
pub fn pin_thread(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: an all-zero set is empty; `cpu` is within the set; the kernel reads the set.
    let status = unsafe {
        let mut cpus: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut cpus);
        libc::sched_setaffinity(0, size_of_val(&cpus), &cpus)
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Write at once what is small (TCP_NODELAY); the connections that a listening socket accepts have
/// it too.
///
/// # Errors
/// When `fd` is no TCP socket.
pub fn set_nodelay(fd: RawFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the kernel reads one int.
    let status = unsafe {
        libc::setsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_NODELAY,
            ptr::from_ref(&on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
