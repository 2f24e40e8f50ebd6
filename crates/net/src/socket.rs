//! Typed access to the kernel's state of a connection, its options and its writes.

use crate::clock::{monotonic_ns, timespec_from_ns};
use std::{io, mem, os::fd::RawFd, ptr};

/// Read TCP_INFO. Fields that an older kernel does not know are 0.
///
/// # Errors
/// When `fd` is no TCP socket.
pub fn tcp_info(fd: RawFd) -> io::Result<libc::tcp_info> {
    // SAFETY: all-zero is a valid tcp_info.
    let mut info: libc::tcp_info = unsafe { mem::zeroed() };
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `info`.
    let status = unsafe {
        libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            ptr::from_mut(&mut info).cast(),
            &mut length,
        )
    };
    match status {
        0 => Ok(info),
        _ => Err(io::Error::last_os_error()),
    }
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

/// Take a socket's pending error (SO_ERROR), as errno; the kernel reports it once.
pub fn take_error(fd: RawFd) -> Option<i32> {
    let mut errno: libc::c_int = 0;
    let mut length = size_of_val(&errno) as libc::socklen_t;
    // SAFETY: the kernel writes one int.
    let status = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            ptr::from_mut(&mut errno).cast(),
            &mut length,
        )
    };
    (status == 0 && errno != 0).then_some(errno)
}

/// Have the kernel send the bytes that Nagle's algorithm or a cork withholds, and let it withhold again.
/// TCP_NODELAY is off afterwards.
///
/// # Errors
/// When `fd` is no TCP socket.
pub fn push_out(fd: RawFd) -> io::Result<()> {
    set_flag(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, true)?;
    set_flag(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, false)
}

/// Switch an option of a socket on or off (setsockopt(2)).
///
/// # Errors
/// When `fd` is no socket that has this option.
pub fn set_flag(fd: RawFd, level: libc::c_int, option: libc::c_int, is_on: bool) -> io::Result<()> {
    let value = libc::c_int::from(is_on);
    // SAFETY: the kernel reads one int.
    let status = unsafe {
        libc::setsockopt(
            fd,
            level,
            option,
            ptr::from_ref(&value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Hand `head` and then `tail` to the kernel in one write, without waiting; returns how many bytes
/// it took, 0 when it takes none now. A reset is an error, not a signal.
///
/// # Errors
/// The kernel's error of the connection.
pub fn send_now(fd: RawFd, head: &[u8], tail: &[u8]) -> io::Result<usize> {
    const FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    loop {
        let sent = if head.is_empty() || tail.is_empty() {
            let only = if head.is_empty() { tail } else { head };
            // SAFETY: `only` is valid for reading.
            unsafe { libc::send(fd, only.as_ptr().cast(), only.len(), FLAGS) }
        } else {
            let parts = [head, tail].map(|part| libc::iovec {
                iov_base: part.as_ptr().cast_mut().cast(),
                iov_len: part.len(),
            });
            // SAFETY: all-zero is a valid msghdr: no name, no control data.
            let mut message: libc::msghdr = unsafe { mem::zeroed() };
            message.msg_iov = parts.as_ptr().cast_mut();
            message.msg_iovlen = parts.len();
            // SAFETY: the kernel reads `message`, its two parts and what they point to.
            unsafe { libc::sendmsg(fd, &message, FLAGS) }
        };
        if sent >= 0 {
            return Ok(sent as usize);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => return Ok(0),
            _ => return Err(error),
        }
    }
}

/// Take what has come, as much as fits, without waiting; returns how many bytes, 0 where the peer has
/// ended its stream, and None where nothing has come.
///
/// # Errors
/// The kernel's error of the connection.
pub fn receive_now(fd: RawFd, into: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        // SAFETY: `into` is valid for writing.
        let received =
            unsafe { libc::recv(fd, into.as_mut_ptr().cast(), into.len(), libc::MSG_DONTWAIT) };
        if received >= 0 {
            return Ok(Some(received as usize));
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => return Ok(None),
            _ => return Err(error),
        }
    }
}

/// Wait until the kernel takes bytes or has an error to report; false when `give_up_ns` came first.
///
/// # Errors
/// `Interrupted` after a signal; what poll(2) says otherwise.
pub fn wait_writable(fd: RawFd, give_up_ns: Option<u64>) -> io::Result<bool> {
    let mut waiting = libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    };
    let left = give_up_ns.map(|ns| timespec_from_ns(ns.saturating_sub(monotonic_ns())));
    let timeout = left.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `waiting` is one pollfd; `timeout` is null or points to `left`; no signal mask.
    match unsafe { libc::ppoll(&mut waiting, 1, timeout, ptr::null()) } {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(io::Error::last_os_error()),
    }
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
            send_now(sender.as_raw_fd(), b"hello", b"").unwrap();
            receiver.read_exact(&mut [0; 5]).unwrap();
        }
        while send_queue_bytes(sender.as_raw_fd()).unwrap() > 0 {
            std::thread::yield_now();
        }
        let info = tcp_info(sender.as_raw_fd()).unwrap();
        // If the host stops for a while, TCP may send a segment again.
        let sent_once = info.tcpi_data_segs_out - info.tcpi_total_retrans;
        assert_eq!((sent_once, info.tcpi_bytes_acked), (3, 15 + 1));
    }

    #[test]
    fn two_parts_leave_as_one_and_a_full_socket_takes_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        let fd = sender.as_raw_fd();
        for (head, tail) in [("he", "llo"), ("hello", ""), ("", "hello")] {
            assert_eq!(send_now(fd, head.as_bytes(), tail.as_bytes()).unwrap(), 5);
            let mut bytes = [0; 5];
            receiver.read_exact(&mut bytes).unwrap();
            assert_eq!(&bytes, b"hello");
        }
        let big = vec![1; 1 << 20];
        let mut taken = 0;
        loop {
            match send_now(fd, &big, &big).unwrap() {
                0 => break,
                some => taken += some,
            }
        }
        let mut all = vec![0; taken];
        receiver.read_exact(&mut all).unwrap();
        assert!(all.iter().all(|&byte| byte == 1));
    }

    #[test]
    fn what_is_corked_leaves_when_it_is_pushed_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        let fd = sender.as_raw_fd();
        set_flag(fd, libc::IPPROTO_TCP, libc::TCP_CORK, true).unwrap();
        // If the host stands still for 200 ms, the cork's own time is over.
        let is_withheld = (0..10).any(|_| {
            send_now(fd, b"hello", b"").unwrap();
            let withheld_bytes = tcp_info(fd).unwrap().tcpi_notsent_bytes;
            push_out(fd).unwrap();
            assert_eq!(tcp_info(fd).unwrap().tcpi_notsent_bytes, 0);
            receiver.read_exact(&mut [0; 5]).unwrap();
            withheld_bytes == 5
        });
        assert!(is_withheld);
    }

    #[test]
    fn what_is_no_socket_is_an_error() {
        assert!(push_out(-1).is_err());
        assert!(send_now(-1, b"x", b"").is_err());
        assert!(tcp_info(-1).is_err());
        assert!(send_queue_bytes(-1).is_err());
    }
}
