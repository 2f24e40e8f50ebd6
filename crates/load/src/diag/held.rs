//! The choice of the kernel's sockets that are kept, bounded in number. No I/O.

use super::socket::{Socket, State};
use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
};

/// The most sockets that are kept; further ones are only counted.
pub const MAX_SOCKETS: usize = 16_384;

/// The conditions of the sockets that are asked for; without any, all are.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only sockets that have this port at either end.
    pub port: Option<u16>,
    /// Only sockets with these inodes.
    pub inodes: Option<HashSet<u64>>,
}

impl Wanted {
    fn has_port(&self, socket: &Socket) -> bool {
        self.port
            .is_none_or(|port| [socket.id.local.port(), socket.id.remote.port()].contains(&port))
    }

    fn has_inode(&self, socket: &Socket) -> bool {
        self.inodes
            .as_ref()
            .is_none_or(|inodes| inodes.contains(&socket.inode))
    }
}

/// The sockets that the kernel holds, as far as they were asked for.
#[derive(Debug, Default)]
pub struct Held {
    /// Connections and listeners; half-open connections are only counted.
    pub sockets: Vec<Socket>,
    /// How many sockets there was no room for.
    pub left_out: u64,
    /// Half-open connections by the address that the SYN came to.
    half_open: HashMap<SocketAddr, u64>,
}

impl Held {
    /// Keep a socket, if it is wanted and there is room.
    pub fn take(&mut self, wanted: &Wanted, socket: Socket) {
        if socket.state == State::TimeWait || !wanted.has_port(&socket) {
            return;
        }
        if socket.state == State::SynReceived {
            // Nobody's file yet: a listener finds its own by the address.
            if self.half_open.len() < MAX_SOCKETS {
                *self.half_open.entry(socket.id.local).or_default() += 1;
            }
        } else if wanted.has_inode(&socket) {
            if self.sockets.len() < MAX_SOCKETS {
                self.sockets.push(socket);
            } else {
                self.left_out += 1;
            }
        }
    }

    /// How many half-open connections this listener has; several listeners with one address
    /// (SO_REUSEPORT) share them, and this counts all of them for each.
    pub fn half_open_at(&self, listener: &Socket) -> u64 {
        self.half_open
            .iter()
            .filter(|(local, _)| listener.listens_at(**local))
            .map(|(_, count)| count)
            .sum()
    }

    /// How many half-open connections all listeners have.
    pub fn half_open(&self) -> u64 {
        self.half_open.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::socket::tests::socket;

    fn kept(wanted: &Wanted, sockets: impl IntoIterator<Item = Socket>) -> Held {
        let mut held = Held::default();
        for socket in sockets {
            held.take(wanted, socket);
        }
        held
    }

    #[test]
    fn a_port_is_wanted_at_either_end() {
        let wanted = Wanted {
            port: Some(80),
            inodes: None,
        };
        let connection = |local, remote| socket(local, remote, State::Established);
        let held = kept(
            &wanted,
            [
                connection("127.0.0.1:80", "127.0.0.1:1"),
                connection("127.0.0.1:1", "127.0.0.1:80"),
                connection("127.0.0.1:1", "127.0.0.1:2"),
                socket("127.0.0.1:80", "127.0.0.1:3", State::TimeWait),
            ],
        );
        assert_eq!(held.sockets.len(), 2);
    }

    #[test]
    fn half_open_connections_are_counted_for_their_listener_whoevers_files_are_wanted() {
        let wanted = Wanted {
            port: None,
            inodes: Some(HashSet::from([5])),
        };
        let mut listener = socket("0.0.0.0:80", "0.0.0.0:0", State::Listen);
        listener.inode = 5;
        let half_open = |local, remote| socket(local, remote, State::SynReceived);
        let held = kept(
            &wanted,
            [
                half_open("127.0.0.1:80", "127.0.0.1:1"),
                listener.clone(),
                half_open("127.0.0.1:80", "127.0.0.1:2"),
                half_open("127.0.0.2:80", "127.0.0.1:1"),
                half_open("127.0.0.1:81", "127.0.0.1:1"),
                socket("127.0.0.1:80", "127.0.0.1:9", State::Established),
            ],
        );
        assert_eq!(held.sockets, [listener]);
        assert_eq!(held.half_open_at(&held.sockets[0]), 3);
        assert_eq!(held.half_open(), 4);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let one = socket("127.0.0.1:80", "127.0.0.1:1", State::Established);
        let held = kept(
            &Wanted::default(),
            std::iter::repeat_n(one, MAX_SOCKETS + 3),
        );
        assert_eq!((held.sockets.len(), held.left_out), (MAX_SOCKETS, 3));
    }
}
