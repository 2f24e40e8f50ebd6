//! The sockets of the bench's two ends: how they are made, what is set on them, and how bytes go
//! through them.

pub mod admission;
pub(crate) mod by_fd;

use admission::Admission;
use rustix::{
    io::Errno,
    net::{self, AddressFamily, SocketFlags, SocketType, sockopt},
};
use std::{
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    os::fd::{AsFd, AsRawFd, OwnedFd, RawFd},
    time::Duration,
};
use tinygram_net::{clock::monotonic_ns, socket::set_flag};

/// A port of loopback that the kernel picks.
#[cfg(test)]
pub const FRESH_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// Listen on an address of this host; with port 0 the kernel picks one. At most `backlog` connections
/// wait to be accepted. Options that are set on the listener, its connections have from the start.
/// `admission` says which client's connections are accepted; the code that accepts them asks it, too.
///
/// # Errors
/// When the address, the port or the congestion control is not available.
pub fn listening(
    address: SocketAddr,
    congestion_control: Option<&str>,
    backlog: i32,
    admission: Admission,
) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    if let Some(name) = congestion_control {
        sockopt::set_tcp_congestion(&listener, name)?;
    }
    admission.guard(&listener)?;
    // A second listen(2) only sets the backlog.
    net::listen(&listener, backlog)?;
    Ok(listener)
}

/// A socket for `server` that is not connected yet, with the options that must be set before. It
/// connects from the address `own`, or, if that is `None`, from one that the kernel picks.
///
/// # Errors
/// When the kernel has no descriptor to give, not this congestion control, or not this address.
pub fn unconnected(
    server: SocketAddr,
    congestion_control: Option<&str>,
    is_nodelay: bool,
    own: Option<IpAddr>,
) -> io::Result<TcpStream> {
    let family = match server {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    if let Some(name) = congestion_control {
        sockopt::set_tcp_congestion(&socket, name)?;
    }
    if is_nodelay {
        sockopt::set_tcp_nodelay(&socket, true)?;
    }
    if let Some(address) = own {
        bind_address(&socket, address)?;
    }
    Ok(socket.into())
}

/// The port is picked when the socket connects: it may be one that a former connection to another
/// server, or from another address, still has.
fn bind_address(socket: &OwnedFd, address: IpAddr) -> io::Result<()> {
    set_flag(
        socket.as_raw_fd(),
        libc::IPPROTO_IP,
        libc::IP_BIND_ADDRESS_NO_PORT,
        true,
    )?;
    Ok(net::bind(socket, &SocketAddr::new(address, 0))?)
}

/// Connect as the client of `admission`, each step within the timeout.
///
/// # Errors
/// What the kernel says; `TimedOut` at the end of the timeout.
pub fn connected_as(
    admission: Admission,
    server: SocketAddr,
    timeout: Duration,
) -> io::Result<TcpStream> {
    let socket = unconnected(server, None, false, admission.host)?;
    socket.set_write_timeout(Some(timeout))?;
    connect(&socket, server)?;
    socket.set_write_timeout(None)?;
    admission.introduce(&socket, timeout)?;
    Ok(socket)
}

/// Connect a socket, and wait until that is done, or as long as its write timeout says.
///
/// # Errors
/// What the kernel says; `TimedOut` at the end of the timeout.
pub fn connect(socket: &TcpStream, address: SocketAddr) -> io::Result<()> {
    net::connect(socket, &address).map_err(|errno| match errno {
        // SO_SNDTIMEO makes a connect that takes too long fail with this (socket(7)).
        Errno::INPROGRESS => ErrorKind::TimedOut.into(),
        _ => errno.into(),
    })
}

/// Let the close of this socket reset the connection, so that its peer cannot take it for an orderly end.
///
/// # Errors
/// When `socket` is no socket.
pub fn reset_when_closed(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
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
            if error.kind() != ErrorKind::Interrupted {
                return Err(error);
            }
        } else {
            rest = &rest[sent as usize..];
        }
    }
    Ok(())
}

/// Read what is there, without waiting; `None`: nothing is there, 0: the peer sends no more.
///
/// # Errors
/// What the kernel says of the connection.
pub fn receive_now(fd: RawFd, target: &mut [u8]) -> io::Result<Option<usize>> {
    match receive(fd, target, libc::MSG_DONTWAIT) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// Whether there are bytes to read, which stay unread; the end of the peer's stream does not count.
///
/// # Errors
/// What the kernel says of the connection.
pub fn has_readable(fd: RawFd) -> io::Result<bool> {
    match receive(fd, &mut [0], libc::MSG_PEEK | libc::MSG_DONTWAIT) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        outcome => outcome.map(|count| count > 0),
    }
}

/// Wait for something on a blocking socket, and read it; 0: the peer sends no more.
///
/// # Errors
/// What the kernel says of the connection; `WouldBlock` at the end of the read timeout.
pub fn receive_some(fd: RawFd, target: &mut [u8]) -> io::Result<usize> {
    receive(fd, target, 0)
}

fn receive(fd: RawFd, target: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
    loop {
        // SAFETY: the kernel writes at most `target.len()` bytes into `target`.
        let count = unsafe { libc::recv(fd, target.as_mut_ptr().cast(), target.len(), flags) };
        if count >= 0 {
            return Ok(count as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Wait until a socket is readable, or, if `for_writing`, readable or writable; until `until_ns`
/// (CLOCK_MONOTONIC), and for 100 ms at most.
///
/// # Errors
/// When the kernel has no memory for it.
pub fn wait_ready(fd: RawFd, for_writing: bool, until_ns: Option<u64>) -> io::Result<()> {
    const LONGEST_NS: u64 = 100_000_000;
    let left_ns = until_ns.map_or(LONGEST_NS, |until_ns| {
        until_ns.saturating_sub(monotonic_ns()).min(LONGEST_NS)
    });
    let left = libc::timespec {
        tv_sec: 0,
        tv_nsec: left_ns as libc::c_long,
    };
    let mut waiting = libc::pollfd {
        fd,
        events: libc::POLLIN | if for_writing { libc::POLLOUT } else { 0 },
        revents: 0,
    };
    // SAFETY: `waiting` is one pollfd, `left` a time, and there is no set of signals.
    if unsafe { libc::ppoll(&mut waiting, 1, &left, std::ptr::null()) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listening(control: Option<&str>) -> io::Result<TcpListener> {
        super::listening(FRESH_PORT, control, 1, Admission::default())
    }

    fn address_of(listener: &TcpListener) -> SocketAddr {
        listener.local_addr().unwrap()
    }

    #[test]
    fn what_is_set_before_connecting_holds_and_a_refusal_is_an_error() {
        let listener = listening(Some("cubic")).unwrap();
        for is_nodelay in [false, true] {
            let socket = unconnected(FRESH_PORT, Some("cubic"), is_nodelay, None).unwrap();
            connect(&socket, address_of(&listener)).unwrap();
            listener.accept().unwrap();
            assert_eq!(socket.nodelay().unwrap(), is_nodelay);
        }
        let address = address_of(&listener);
        drop(listener);
        let socket = unconnected(FRESH_PORT, Some("cubic"), true, None).unwrap();
        let refused = connect(&socket, address).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }

    #[test]
    fn a_socket_with_an_address_of_its_own_is_known_by_it() {
        let listener = listening(None).unwrap();
        let own: IpAddr = [127, 3, 4, 5].into();
        let admission = Admission {
            host: Some(own),
            token: None,
        };
        for (client, is_other) in [(None, true), (Some(own), false)] {
            let socket = unconnected(FRESH_PORT, Some("cubic"), true, client).unwrap();
            connect(&socket, address_of(&listener)).unwrap();
            let (stream, peer) = listener.accept().unwrap();
            assert_eq!(admission.admit(&stream, peer.ip()), !is_other);
            assert!(Admission::default().admit(&stream, peer.ip()));
        }
        let limit = Duration::from_secs(5);
        let _socket = connected_as(admission, address_of(&listener), limit).unwrap();
        let (stream, peer) = listener.accept().unwrap();
        assert!(admission.admit(&stream, peer.ip()));
    }

    #[test]
    fn what_a_listener_has_its_connections_have() {
        let listener = listening(None).unwrap();
        sockopt::set_tcp_nodelay(&listener, true).unwrap();
        let _client = TcpStream::connect(address_of(&listener)).unwrap();
        assert!(listener.accept().unwrap().0.nodelay().unwrap());
    }

    #[test]
    fn a_congestion_control_that_is_not_to_be_had_is_an_error() {
        assert!(unconnected(FRESH_PORT, Some("no-such-control"), true, None).is_err());
        assert!(listening(Some("no-such-control")).is_err());
    }

    #[test]
    fn nothing_to_read_is_no_error() {
        let listener = listening(None).unwrap();
        let socket = unconnected(FRESH_PORT, Some("cubic"), true, None).unwrap();
        connect(&socket, address_of(&listener)).unwrap();
        reset_when_closed(&socket).unwrap();
        assert_eq!(receive_now(socket.as_raw_fd(), &mut [0; 4]).unwrap(), None);
    }

    #[test]
    fn what_is_no_socket_is_an_error() {
        assert!(reset_when_closed(std::fs::File::open("/dev/null").unwrap()).is_err());
        assert!(send_all(-1, b"x").is_err());
        assert!(receive_now(-1, &mut [0; 4]).is_err());
        assert!(receive_some(-1, &mut [0; 4]).is_err());
    }
}
