//! Requests to the kernel, as bytes (sock_diag(7); linux/inet_diag.h). No I/O.

use super::socket::{SocketId, State};
use crate::netlink::request::{NLM_F_DUMP, Request};
use std::net::{IpAddr, SocketAddr};

pub const AF_INET: u8 = libc::AF_INET as u8;
pub const AF_INET6: u8 = libc::AF_INET6 as u8;
pub const SOCK_DIAG_BY_FAMILY: u16 = 20;

const INET_DIAG_REQ_BYTECODE: u16 = 1;

pub const INET_DIAG_INFO: u16 = 2;
pub const INET_DIAG_CONG: u16 = 4;
pub const INET_DIAG_SKMEMINFO: u16 = 7;
/// A bit for each attribute that the answer is to have.
const EXTENSIONS: u8 =
    (1 << (INET_DIAG_INFO - 1)) | (1 << (INET_DIAG_CONG - 1)) | (1 << (INET_DIAG_SKMEMINFO - 1));

/// All states but those of sockets that nobody has any more: TIME-WAIT may be tens of thousands.
const STATES: u32 = ((1 << 12) - 2) & !(1 << State::TimeWait as u32) & !(1 << State::Close as u32);

/// Ask for all sockets of a family; with `port`, only for those that have it at either end.
pub fn dump(family: u8, port: Option<u16>, sequence: u32) -> Vec<u8> {
    let mut request = of_tcp(family, NLM_F_DUMP, sequence);
    request.push(&[0; 48]);
    if let Some(port) = port {
        request.attribute(INET_DIAG_REQ_BYTECODE, &of_port(port));
    }
    request.finished()
}

/// Ask for the one socket with this id.
pub fn one(id: &SocketId, sequence: u32) -> Vec<u8> {
    let family = if id.local.is_ipv4() {
        AF_INET
    } else {
        AF_INET6
    };
    let mut request = of_tcp(family, 0, sequence);
    request.push(&id.local.port().to_be_bytes());
    request.push(&id.remote.port().to_be_bytes());
    request.push(&octets(id.local));
    request.push(&octets(id.remote));
    request.push(&id.interface.to_ne_bytes());
    request.push(&id.cookie.map(u32::to_ne_bytes).concat());
    request.finished()
}

/// `struct inet_diag_req_v2`, up to the socket's name.
fn of_tcp(family: u8, flags: u16, sequence: u32) -> Request {
    let mut request = Request::new(SOCK_DIAG_BY_FAMILY, flags, sequence);
    request.push(&[family, libc::IPPROTO_TCP as u8, EXTENSIONS, 0]);
    request.push(&STATES.to_ne_bytes());
    request
}

fn octets(address: SocketAddr) -> [u8; 16] {
    let mut octets = [0; 16];
    match address.ip() {
        IpAddr::V4(ip) => octets[..4].copy_from_slice(&ip.octets()),
        IpAddr::V6(ip) => octets = ip.octets(),
    }
    octets
}

/// The kernel's filter program `sport == port || dport == port` (struct inet_diag_bc_op: code, how far
/// to go on yes and on no, an operand). A socket is taken if it ends exactly at the program's end.
fn of_port(port: u16) -> Vec<u8> {
    const JUMP: u8 = 1;
    const SOURCE_IS: u8 = 11;
    const DESTINATION_IS: u8 = 12;
    let instruction = |code: u8, yes: u8, no: u16| {
        let [low, high] = no.to_ne_bytes();
        [code, yes, low, high]
    };
    [
        instruction(SOURCE_IS, 8, 12),
        instruction(0, 0, port), // The operand.
        instruction(JUMP, 4, 12),
        instruction(DESTINATION_IS, 8, 12), // No: 4 beyond the end.
        instruction(0, 0, port),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_its_own_length() {
        let id = SocketId {
            local: "127.0.0.1:258".parse().unwrap(),
            remote: "127.0.0.1:80".parse().unwrap(),
            interface: 3,
            cookie: [5, 6],
        };
        for (request, length) in [
            (dump(AF_INET, None, 7), 72),
            (dump(AF_INET6, Some(80), 7), 96),
            (one(&id, 7), 72),
        ] {
            assert_eq!(request.len(), length);
            assert_eq!(request[..4], (length as u32).to_ne_bytes());
            assert_eq!(request[8..12], 7u32.to_ne_bytes());
        }
    }

    #[test]
    fn a_name_is_in_network_byte_order() {
        let id = SocketId {
            local: "127.0.0.1:258".parse().unwrap(),
            remote: "10.1.2.3:80".parse().unwrap(),
            interface: 0,
            cookie: SocketId::NO_COOKIE,
        };
        let request = one(&id, 1);
        assert_eq!(request[24..28], [1, 2, 0, 80]);
        assert_eq!(request[28..32], [127, 0, 0, 1]);
        assert_eq!(request[44..48], [10, 1, 2, 3]);
        assert_eq!(request[64..72], [255; 8]);
    }

    #[test]
    fn time_wait_is_not_asked_for() {
        assert_eq!(STATES, 0b1111_0011_1110);
    }
}
