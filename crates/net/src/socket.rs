//! Typed socket state: what the kernel knows of a connection.

use std::{io, os::fd::RawFd, ptr};

/// The fields of `struct tcp_info` (linux/tcp.h) that explain a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// The largest segment this side sends, in bytes.
    pub send_mss_bytes: u32,
    /// Smoothed round-trip time, in microseconds.
    pub rtt_us: u32,
    /// Congestion window, in segments.
    pub congestion_window_segments: u32,
    /// Segments sent again.
    pub retransmits: u32,
    /// Segments sent, with and without data.
    pub segments_out: u32,
    /// Segments received, with and without data: mostly ACKs at a sender.
    pub segments_in: u32,
    /// Segments sent that carried data.
    pub data_segments_out: u32,
    /// Bytes that the peer acknowledged.
    pub acknowledged_bytes: u64,
}

/// Read TCP_INFO.
///
/// # Errors
/// When `fd` is no TCP socket.
pub fn tcp_info(fd: RawFd) -> io::Result<TcpInfo> {
    // Fields are read by their fixed offsets, so that a kernel older or newer than the headers
    // gives zeros for what it does not know.
    let mut bytes = [0u8; 256];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `bytes`.
    let status = unsafe {
        libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &mut length,
        )
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    Ok(TcpInfo {
        send_mss_bytes: word(16),
        rtt_us: word(68),
        congestion_window_segments: word(80),
        retransmits: word(100),
        acknowledged_bytes: long(120),
        segments_out: word(136),
        segments_in: word(140),
        data_segments_out: word(156),
    })
}

/// Bytes in the send queue: not yet sent, or not yet acknowledged.
///
/// # Errors
/// When `fd` is no TCP socket.
pub fn send_queue_bytes(fd: RawFd) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: TIOCOUTQ (SIOCOUTQ) writes one int.
    match unsafe { libc::ioctl(fd, libc::TIOCOUTQ, ptr::from_mut(&mut bytes)) } {
        0 => Ok(bytes as u64),
        _ => Err(io::Error::last_os_error()),
    }
}

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
    use std::{
        io::Read,
        net::{TcpListener, TcpStream},
        os::fd::AsRawFd,
    };

    #[test]
    fn tcp_info_counts_what_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        sender.set_nodelay(true).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        for _ in 0..3 {
            send_all(sender.as_raw_fd(), b"hello").unwrap();
            receiver.read_exact(&mut [0; 5]).unwrap();
        }
        while send_queue_bytes(sender.as_raw_fd()).unwrap() > 0 {
            std::thread::yield_now();
        }
        let info = tcp_info(sender.as_raw_fd()).unwrap();
        assert_eq!(
            (info.data_segments_out, info.acknowledged_bytes),
            (3, 15 + 1)
        );
        assert_eq!(info.retransmits, 0);
    }

    #[test]
    fn what_is_no_socket_is_an_error() {
        assert!(tcp_info(-1).is_err());
        assert!(send_queue_bytes(-1).is_err());
        assert!(set_backlog(-1, 1).is_err());
        assert!(set_congestion_control(-1, "cubic").is_err());
        assert!(receive_buffer_bytes(-1).is_err());
        assert!(send_all(-1, b"x").is_err());
    }
}
