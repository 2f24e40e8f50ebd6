//! Socket options and blocking writes of the bench's two ends.

use std::{io, os::fd::RawFd, ptr};

/// Make `backlog` connections wait at most in the accept queue of a listening socket.
///
/// # Errors
/// When `fd` is no listening socket.
pub fn set_backlog(fd: RawFd, backlog: i32) -> io::Result<()> {
    // SAFETY: takes two numbers.
    match unsafe { libc::listen(fd, backlog) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Pin the congestion control of a socket; connections that a listening socket accepts have its.
///
/// # Errors
/// When the kernel does not have it, or does not give it to this process.
pub fn set_congestion_control(fd: RawFd, name: &str) -> io::Result<()> {
    // SAFETY: the kernel reads `name.len()` bytes.
    let status = unsafe {
        libc::setsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What the kernel keeps for received bytes at most (SO_RCVBUF), in bytes.
///
/// # Errors
/// When `fd` is no socket.
pub fn receive_buffer_bytes(fd: RawFd) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    let mut length = size_of_val(&bytes) as libc::socklen_t;
    // SAFETY: the kernel writes one int.
    let status = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_RCVBUF,
            ptr::from_mut(&mut bytes).cast(),
            &mut length,
        )
    };
    match status {
        0 => Ok(bytes as u64),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Send all of `bytes` on a blocking socket; a reset is an error, not a signal.
///
/// # Errors
/// What the kernel says of the connection.
pub fn send_all(fd: RawFd, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        // SAFETY: `rest` is valid for reading.
        let sent = unsafe { libc::send(fd, rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) };
        if sent < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        } else {
            rest = &rest[sent as usize..];
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_socket_is_an_error() {
        assert!(set_backlog(-1, 1).is_err());
        assert!(set_congestion_control(-1, "cubic").is_err());
        assert!(receive_buffer_bytes(-1).is_err());
        assert!(send_all(-1, b"x").is_err());
    }
}
