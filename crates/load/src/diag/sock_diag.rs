//! Asks the kernel over netlink (sock_diag(7)).

use super::{
    held::{Held, Wanted},
    reply::parse_reply,
    request::{self, AF_INET, AF_INET6},
    socket::{Socket, SocketId},
};
use crate::netlink::{Netlink, wire::Outcome};
use std::{io, os::fd::OwnedFd};

/// Asks for the sockets of one network namespace: the one in which it was opened. After an error open
/// another one.
#[derive(Debug)]
pub struct Diag {
    netlink: Netlink,
}

impl Diag {
    /// Open one in the calling thread's network namespace.
    ///
    /// # Errors
    /// When there is no sock_diag (EPROTONOSUPPORT), or the kernel has no descriptor to give.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            netlink: Netlink::open()?,
        })
    }

    /// Use a netlink socket that was opened elsewhere, and asks for that namespace; nobody else may use
    /// it meanwhile.
    ///
    /// # Errors
    /// When it is no socket. If it is not sock_diag's, the first answer is an error.
    pub fn over(socket: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            netlink: Netlink::over(socket)?,
        })
    }

    /// All wanted sockets, of IPv4 and IPv6.
    ///
    /// # Errors
    /// The kernel's error: ENOENT without its module tcp_diag, EINVAL from one that cannot filter by
    /// port (before Linux 4.16). `InvalidData` for a malformed answer; `TimedOut`.
    pub fn sockets(&mut self, wanted: &Wanted) -> io::Result<Held> {
        let mut held = Held::default();
        self.dump(AF_INET, wanted, &mut held)?;
        match self.dump(AF_INET6, wanted, &mut held) {
            // A kernel without IPv6 has no such sockets.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(held),
            other => other.map(|()| held),
        }
    }

    /// All wanted sockets of IPv4.
    ///
    /// # Errors
    /// Those of [`Diag::sockets`].
    pub fn ipv4_sockets(&mut self, wanted: &Wanted) -> io::Result<Held> {
        let mut held = Held::default();
        self.dump(AF_INET, wanted, &mut held)?;
        Ok(held)
    }

    /// The one socket with this id, or `None` when it is gone. This costs the kernel much less than
    /// looking through all sockets.
    ///
    /// # Errors
    /// Those of [`Diag::sockets`].
    pub fn one(&mut self, id: &SocketId) -> io::Result<Option<Socket>> {
        let mut found = None;
        let request = |sequence| request::one(id, sequence);
        self.netlink.exchange(request, |datagram, sequence| {
            let outcome = parse_reply(datagram, sequence, |socket| found = Some(socket))?;
            Ok(match outcome {
                // The kernel does not say that it was the last datagram.
                Outcome::More if found.is_some() => Outcome::Done,
                Outcome::Failed(libc::ENOENT | libc::ESTALE) => Outcome::Done,
                other => other,
            })
        })?;
        Ok(found)
    }

    fn dump(&mut self, family: u8, wanted: &Wanted, held: &mut Held) -> io::Result<()> {
        let request = |sequence| request::dump(family, wanted.port, sequence);
        self.netlink.exchange(request, |datagram, sequence| {
            parse_reply(datagram, sequence, |socket| held.take(wanted, socket))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diag::{State, fields},
        socket::{FRESH_PORT, admission::Admission, listening},
    };
    use std::{
        io::{Read, Write},
        net::{Ipv6Addr, TcpListener, TcpStream},
        os::fd::AsRawFd,
    };
    use tinygram_net::clock::monotonic_ns;

    fn of_port(port: u16) -> Wanted {
        Wanted {
            port: Some(port),
            inodes: None,
        }
    }

    fn wait_until(mut is_so: impl FnMut() -> bool) {
        let give_up_ns = monotonic_ns() + 60_000_000_000;
        while !is_so() {
            assert!(monotonic_ns() < give_up_ns, "not within a minute");
            std::thread::yield_now();
        }
    }

    #[test]
    fn both_ends_of_a_connection_and_its_listener_are_found_by_port() {
        let listener = listening(FRESH_PORT, None, 7, Admission::default()).unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let wanted = of_port(address.port());
        let mut diag = Diag::open().unwrap();
        let mut held = Held::default();
        wait_until(|| {
            held = diag.sockets(&wanted).unwrap();
            // The connection may be there before it is in the listener's queue.
            let is_queued =
                |socket: &Socket| (socket.state, socket.receive_queue) == (State::Listen, 1);
            held.sockets.len() == 3 && held.sockets.iter().any(is_queued)
        });
        let find = |is_it: &dyn Fn(&Socket) -> bool| {
            let found = held.sockets.iter().find(|socket| is_it(socket));
            found.unwrap().clone()
        };
        let listens = find(&|socket| socket.state == State::Listen);
        assert_eq!((listens.receive_queue, listens.send_queue), (1, Some(7)));
        let sender = find(&|socket| socket.id.remote == address);
        assert_eq!(sender.id.local, client.local_addr().unwrap());
        let receiver = find(&|socket| socket.id.remote == sender.id.local);
        assert_eq!((receiver.id.local, receiver.inode), (address, 0));

        let (mut server, _) = listener.accept().unwrap();
        client.write_all(b"hello").unwrap();
        let mut now = |id: &SocketId| diag.one(id).unwrap().unwrap();
        wait_until(|| now(&receiver.id).receive_queue == 5);
        wait_until(|| now(&sender.id).send_queue == Some(0));
        let sender = now(&sender.id);
        assert_eq!(sender.info.number(fields::DATA_SEGMENTS_SENT), Some(1));
        assert_eq!(sender.unacknowledged_bytes(), Some(0));
        assert!(sender.cwnd_segments.unwrap() > 0);
        assert!(!sender.congestion_control.is_empty());
        assert!(sender.memory.number(fields::MEMORY[2]).unwrap() > 0);
        server.read_exact(&mut [0; 5]).unwrap();
        assert_eq!(now(&receiver.id).receive_queue, 0);
        assert!(now(&receiver.id).inode > 0);
    }

    #[test]
    fn what_the_peer_does_not_take_is_in_the_send_queue() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let (_server, _) = listener.accept().unwrap();
        client.set_nonblocking(true).unwrap();
        while client.write(&[0; 1 << 16]).is_ok() {}
        let mut diag = Diag::open().unwrap();
        let held = diag.sockets(&of_port(address.port())).unwrap();
        let is_sender = |socket: &&Socket| socket.id.remote == address;
        let sender = held.sockets.iter().find(is_sender).unwrap();
        let unsent = sender.info.number(fields::UNSENT).unwrap();
        let queued = u64::from(sender.send_queue.unwrap());
        assert!(0 < unsent && unsent <= queued);
        assert_eq!(sender.unacknowledged_bytes(), Some(queued - unsent));
        let unread = held.sockets.iter().map(|socket| socket.receive_queue);
        assert!(unread.max() > Some(0));
    }

    #[test]
    fn one_that_is_gone_is_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut diag = Diag::open().unwrap();
        let id = diag.sockets(&of_port(port)).unwrap().sockets[0].id;
        assert_eq!(diag.one(&id).unwrap().map(|socket| socket.id), Some(id));
        drop(listener);
        assert_eq!(diag.one(&id).unwrap(), None);
    }

    #[test]
    fn ipv6_is_found_too() {
        // Not every host has IPv6.
        let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
            return;
        };
        let address = listener.local_addr().unwrap();
        let mut diag = Diag::open().unwrap();
        let held = diag.sockets(&of_port(address.port())).unwrap();
        assert_eq!(held.sockets[0].id.local, address);
        let id = held.sockets[0].id;
        assert!(diag.one(&id).unwrap().is_some());
    }

    #[test]
    fn a_file_is_found_by_its_inode() {
        use std::{collections::HashSet, fs, os::linux::fs::MetadataExt};
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let path = format!("/proc/self/fd/{}", listener.as_raw_fd());
        let inode = fs::metadata(path).unwrap().st_ino();
        let wanted = Wanted {
            port: None,
            inodes: Some(HashSet::from([inode])),
        };
        let held = Diag::open().unwrap().sockets(&wanted).unwrap();
        assert_eq!(held.sockets.len(), 1);
        assert_eq!(held.sockets[0].id.local, listener.local_addr().unwrap());
    }
}
