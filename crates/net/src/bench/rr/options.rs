//! The sockets of both sides: how they are made, and what is set on them.

use crate::bench::socket::set_congestion_control;
use std::{
    io::{self, ErrorKind},
    net::SocketAddrV4,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

/// Switch TCP_NODELAY of a connection, or of all that a listening socket will accept.
pub fn set_nodelay(fd: RawFd, is_on: bool) -> io::Result<()> {
    set_tcp_flag(fd, libc::TCP_NODELAY, is_on)
}

/// Acknowledge at once what comes next; the kernel goes back to delaying by itself (tcp(7)).
pub fn acknowledge_quickly(fd: RawFd) -> io::Result<()> {
    set_tcp_flag(fd, libc::TCP_QUICKACK, true)
}

fn set_tcp_flag(fd: RawFd, option: libc::c_int, is_on: bool) -> io::Result<()> {
    let value = libc::c_int::from(is_on);
    // SAFETY: the kernel reads one int.
    let status = unsafe {
        libc::setsockopt(
            fd,
            libc::IPPROTO_TCP,
            option,
            ptr::from_ref(&value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    outcome(status)
}

/// A socket that is not connected yet, with all that is to be set before it is.
pub fn unconnected(congestion_control: &str, is_nodelay: bool) -> io::Result<OwnedFd> {
    // SAFETY: takes three numbers; the result is checked before it is owned.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just created and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    set_congestion_control(fd, congestion_control)?;
    if is_nodelay {
        set_nodelay(fd, true)?;
    }
    Ok(socket)
}

/// Connect, and wait until that is done.
pub fn connect(socket: &OwnedFd, address: SocketAddrV4) -> io::Result<()> {
    // SAFETY: an all-zero sockaddr_in is valid.
    let mut target: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    target.sin_family = libc::AF_INET as libc::sa_family_t;
    target.sin_port = address.port().to_be();
    target.sin_addr.s_addr = u32::from(*address.ip()).to_be();
    // SAFETY: the kernel reads one sockaddr_in.
    let status = unsafe {
        libc::connect(
            socket.as_raw_fd(),
            ptr::from_ref(&target).cast(),
            size_of_val(&target) as libc::socklen_t,
        )
    };
    outcome(status)
}

/// Read what is there; `None` when nothing is, 0 when the peer has ended its side.
pub fn receive_now(fd: RawFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match receive(fd, buffer, libc::MSG_DONTWAIT) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// Wait for something, and read it; 0 when the peer has ended its side.
pub fn receive_some(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    receive(fd, buffer, 0)
}

fn receive(fd: RawFd, buffer: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
    loop {
        // SAFETY: the kernel writes at most `buffer.len()` bytes into `buffer`.
        let count = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), flags) };
        if count >= 0 {
            return Ok(count as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Wait until a socket is readable, or writable too if that is asked for, for 100 ms at most.
pub fn wait_ready(fd: RawFd, for_writing: bool) -> io::Result<()> {
    const LONGEST_MS: libc::c_int = 100;
    let mut waiting = libc::pollfd {
        fd,
        events: libc::POLLIN | if for_writing { libc::POLLOUT } else { 0 },
        revents: 0,
    };
    // SAFETY: `waiting` is one pollfd.
    if unsafe { libc::poll(&mut waiting, 1, LONGEST_MS) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

fn outcome(status: libc::c_int) -> io::Result<()> {
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    fn address_of(listener: &TcpListener) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, listener.local_addr().unwrap().port())
    }

    #[test]
    fn what_is_set_before_connecting_holds_and_a_refusal_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        for is_nodelay in [false, true] {
            let socket = unconnected("cubic", is_nodelay).unwrap();
            connect(&socket, address_of(&listener)).unwrap();
            let stream = std::net::TcpStream::from(socket);
            assert_eq!(stream.nodelay().unwrap(), is_nodelay);
        }
        let address = address_of(&listener);
        drop(listener);
        let socket = unconnected("cubic", true).unwrap();
        let refused = connect(&socket, address).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        assert!(unconnected("no-such-control", true).is_err());
    }

    #[test]
    fn nothing_to_read_is_no_error_and_no_socket_is_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = unconnected("cubic", true).unwrap();
        connect(&socket, address_of(&listener)).unwrap();
        acknowledge_quickly(socket.as_raw_fd()).unwrap();
        let mut buffer = [0; 4];
        assert_eq!(receive_now(socket.as_raw_fd(), &mut buffer).unwrap(), None);
        assert!(receive_now(-1, &mut buffer).is_err());
        assert!(receive_some(-1, &mut buffer).is_err());
        assert!(set_nodelay(-1, true).is_err());
    }
}
