//! The kernel's answers (linux/netlink.h, linux/inet_diag.h): read or refused. No I/O.
//!
//! Every length is checked before it is used, and only the beginning of unbounded parts is kept.

use super::{
    fields::{CWND, Structure},
    request::{
        AF_INET, AF_INET6, INET_DIAG_CONG, INET_DIAG_INFO, INET_DIAG_SKMEMINFO, SOCK_DIAG_BY_FAMILY,
    },
    socket::{Socket, SocketId, State, Timer},
};
use crate::netlink::wire::{Outcome, ReplyError, attributes, length_within, messages, word};
use std::net::{IpAddr, SocketAddr};

/// `struct inet_diag_msg`, which attributes follow.
const SOCKET_BYTES: usize = 72;
/// TCP_CA_NAME_MAX.
const MAX_NAME_BYTES: usize = 16;

/// Read a datagram of the answer to request `sequence`; `keep` gets each socket in it.
///
/// # Errors
/// [`ReplyError`]; sockets that came before it were kept.
pub fn parse_reply(
    datagram: &[u8],
    sequence: u32,
    mut keep: impl FnMut(Socket),
) -> Result<Outcome, ReplyError> {
    messages(datagram, sequence, |kind, body| {
        if kind == SOCK_DIAG_BY_FAMILY {
            keep(socket(body)?);
        }
        Ok(())
    })
}

fn socket(body: &[u8]) -> Result<Socket, ReplyError> {
    length_within("a socket", body, SOCKET_BYTES, <[u8]>::len)?;
    let family = body[0];
    let state = State::from_number(body[1]).ok_or_else(|| unknown_state(body[1]))?;
    let mut socket = Socket {
        id: SocketId {
            local: address(family, &body[8..24], port(body, 4))?,
            remote: address(family, &body[24..40], port(body, 6))?,
            interface: word(body, 40),
            cookie: [word(body, 44), word(body, 48)],
        },
        state,
        timer: Timer::from_number(body[2], word(body, 52)),
        receive_queue: word(body, 56),
        send_queue: Some(word(body, 60)),
        user_id: word(body, 64),
        inode: word(body, 68).into(),
        cwnd_segments: None,
        info: Structure::default(),
        memory: Structure::default(),
        congestion_control: String::new(),
    };
    attributes(&body[SOCKET_BYTES..], |kind, value| match kind {
        INET_DIAG_INFO => socket.info = Structure::copied(value),
        INET_DIAG_SKMEMINFO => socket.memory = Structure::copied(value),
        INET_DIAG_CONG => socket.congestion_control = name(value),
        _ => {}
    })?;
    if state != State::Listen {
        socket.cwnd_segments = socket.info.number(CWND);
    }
    Ok(socket)
}

fn address(family: u8, octets: &[u8], port: u16) -> Result<SocketAddr, ReplyError> {
    let whole: [u8; 16] = octets.try_into().expect("16 bytes");
    let [a, b, c, d, ..] = whole;
    let ip = match family {
        AF_INET => IpAddr::from([a, b, c, d]),
        AF_INET6 => IpAddr::from(whole),
        other => return Err(unknown_family(other)),
    };
    Ok(SocketAddr::new(ip, port))
}

fn unknown_family(number: u8) -> ReplyError {
    ReplyError::Unknown {
        what: "a socket of address family",
        number,
        known: "AF_INET and AF_INET6",
    }
}

fn unknown_state(number: u8) -> ReplyError {
    ReplyError::Unknown {
        what: "a socket in state",
        number,
        known: "1 to 12",
    }
}

/// Text up to its first zero byte.
fn name(value: &[u8]) -> String {
    let end = value
        .iter()
        .take(MAX_NAME_BYTES)
        .position(|&byte| byte == 0);
    let end = end.unwrap_or(value.len().min(MAX_NAME_BYTES));
    String::from_utf8_lossy(&value[..end]).into_owned()
}

fn port(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().expect("2 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diag::fields::{MEMORY, RTT, UNSENT},
        netlink::wire::{ATTRIBUTE_HEADER_BYTES, HEADER_BYTES, NLMSG_DONE, NLMSG_ERROR},
    };
    use proptest::prelude::*;

    const SEQUENCE: u32 = 9;

    fn message(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        let length = (HEADER_BYTES + body.len()) as u32;
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend([0; 2]);
        message.extend(sequence.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        message.resize(message.len().next_multiple_of(4), 0);
        message
    }

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut attribute = ((ATTRIBUTE_HEADER_BYTES + value.len()) as u16)
            .to_ne_bytes()
            .to_vec();
        attribute.extend(kind.to_ne_bytes());
        attribute.extend(value);
        attribute.resize(attribute.len().next_multiple_of(4), 0);
        attribute
    }

    /// An IPv4 connection 127.0.0.1:258 → 127.0.0.1:80 as `struct inet_diag_msg`.
    fn connection() -> Vec<u8> {
        let mut body = vec![AF_INET, 1, 1, 0, 1, 2, 0, 80];
        body.extend([127, 0, 0, 1]);
        body.extend([0; 12]);
        body.extend([127, 0, 0, 1]);
        body.extend([0; 12]);
        for word in [0u32, 7, 8, 200, 11, 22, 1000, 4242] {
            body.extend(word.to_ne_bytes());
        }
        body
    }

    fn parsed(datagram: &[u8]) -> (Vec<Socket>, Result<Outcome, ReplyError>) {
        let mut sockets = Vec::new();
        let outcome = parse_reply(datagram, SEQUENCE, |socket| sockets.push(socket));
        (sockets, outcome)
    }

    #[test]
    fn a_socket_and_its_attributes_are_read() {
        let mut info = [0; 164];
        info[68..72].copy_from_slice(&55u32.to_ne_bytes());
        info[80..84].copy_from_slice(&10u32.to_ne_bytes());
        info[144..148].copy_from_slice(&20u32.to_ne_bytes());
        let mut body = connection();
        body.extend(attribute(INET_DIAG_INFO, &info));
        body.extend(attribute(INET_DIAG_CONG, b"cubic\0"));
        body.extend(attribute(INET_DIAG_SKMEMINFO, &[1, 0, 0, 0, 2, 0, 0, 0]));
        body.extend(attribute(99, b"unknown"));
        let (sockets, outcome) = parsed(&message(SOCK_DIAG_BY_FAMILY, SEQUENCE, &body));
        assert_eq!(outcome, Ok(Outcome::More));
        let [socket] = &sockets[..] else {
            panic!("one socket, not {sockets:?}");
        };
        assert_eq!(socket.id.local, "127.0.0.1:258".parse().unwrap());
        assert_eq!(socket.id.remote, "127.0.0.1:80".parse().unwrap());
        assert_eq!(socket.id.cookie, [7, 8]);
        assert_eq!(socket.state, State::Established);
        assert_eq!(socket.timer, Timer::from_number(1, 200));
        assert_eq!((socket.receive_queue, socket.send_queue), (11, Some(22)));
        assert_eq!((socket.user_id, socket.inode), (1000, 4242));
        assert_eq!(socket.info.number(RTT), Some(55));
        assert_eq!(socket.info.number(UNSENT), Some(20));
        assert_eq!(socket.unacknowledged_bytes(), Some(2));
        assert_eq!(socket.cwnd_segments, Some(10));
        assert_eq!(socket.memory.number(MEMORY[1]), Some(2));
        assert_eq!(socket.memory.number(MEMORY[2]), None);
        assert_eq!(socket.congestion_control, "cubic");
    }

    #[test]
    fn an_ipv6_address_is_read_whole() {
        let mut body = connection();
        body[0] = AF_INET6;
        body[8..24].copy_from_slice(&std::net::Ipv6Addr::LOCALHOST.octets());
        let (sockets, _) = parsed(&message(SOCK_DIAG_BY_FAMILY, SEQUENCE, &body));
        assert_eq!(sockets[0].id.local, "[::1]:258".parse().unwrap());
    }

    #[test]
    fn the_end_of_a_dump_and_refusals_are_told_apart() {
        let done = message(NLMSG_DONE, SEQUENCE, &0i32.to_ne_bytes());
        let refused = message(NLMSG_ERROR, SEQUENCE, &(-libc::ENOENT).to_ne_bytes());
        let failed = message(NLMSG_DONE, SEQUENCE, &(-libc::EINVAL).to_ne_bytes());
        assert_eq!(parsed(&done).1, Ok(Outcome::Done));
        assert_eq!(parsed(&refused).1, Ok(Outcome::Failed(libc::ENOENT)));
        assert_eq!(parsed(&failed).1, Ok(Outcome::Failed(libc::EINVAL)));
        assert_eq!(parsed(&[]).1, Ok(Outcome::More));
    }

    #[test]
    fn what_answers_another_request_is_passed_over() {
        let mut datagram = message(SOCK_DIAG_BY_FAMILY, SEQUENCE - 1, &connection());
        datagram.extend(message(NLMSG_DONE, SEQUENCE - 1, &[0; 4]));
        datagram.extend(message(SOCK_DIAG_BY_FAMILY, SEQUENCE, &connection()));
        let (sockets, outcome) = parsed(&datagram);
        assert_eq!((sockets.len(), outcome), (1, Ok(Outcome::More)));
    }

    #[test]
    fn a_length_beyond_what_came_is_refused_and_so_is_one_below_its_header() {
        let whole = message(SOCK_DIAG_BY_FAMILY, SEQUENCE, &connection());
        for length in [0u32, 15, whole.len() as u32 + 1, u32::MAX] {
            let mut lying = whole.clone();
            lying[..4].copy_from_slice(&length.to_ne_bytes());
            let expected = ReplyError::Length {
                part: "a netlink message",
                length: length as usize,
                least: 16,
                room: whole.len(),
            };
            assert_eq!(parsed(&lying).1, Err(expected));
        }
        for length in [0u16, 3, 13, u16::MAX] {
            let mut body = connection();
            body.extend(attribute(INET_DIAG_INFO, &[0; 8]));
            body[SOCKET_BYTES..SOCKET_BYTES + 2].copy_from_slice(&length.to_ne_bytes());
            let (sockets, outcome) = parsed(&message(SOCK_DIAG_BY_FAMILY, SEQUENCE, &body));
            assert!(sockets.is_empty());
            assert!(matches!(
                outcome,
                Err(ReplyError::Length {
                    part: "an attribute",
                    ..
                })
            ));
        }
    }

    #[test]
    fn what_this_version_does_not_know_is_refused_by_name() {
        let changed = |at: usize, value: u8| {
            let mut body = connection();
            body[at] = value;
            parsed(&message(SOCK_DIAG_BY_FAMILY, SEQUENCE, &body)).1
        };
        let told = |at, value| changed(at, value).unwrap_err().to_string();
        let family = "a socket of address family 7, where AF_INET and AF_INET6 are known";
        assert_eq!(told(0, 7), family);
        assert_eq!(told(1, 13), "a socket in state 13, where 1 to 12 are known");
        let cut = message(SOCK_DIAG_BY_FAMILY, SEQUENCE, &connection()[..71]);
        let told = parsed(&cut[..HEADER_BYTES + 71]).1.unwrap_err().to_string();
        assert_eq!(
            told,
            "a socket of 71 bytes: at least 72, at most the 71 that came"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_keep_more_than_came(
            bytes in proptest::collection::vec(any::<u8>(), 0..400), sequence in 0u32..3
        ) {
            let mut kept = 0;
            let _refused_or_not = parse_reply(&bytes, sequence, |_| kept += 1);
            prop_assert!(kept * (HEADER_BYTES + SOCKET_BYTES) <= bytes.len());
        }

        #[test]
        fn a_whole_answer_with_some_bytes_changed_is_read_or_refused(
            count in 1usize..4, edits in proptest::collection::vec((0usize..1000, any::<u8>()), 0..6)
        ) {
            let mut body = connection();
            body.extend(attribute(INET_DIAG_INFO, &[1; 240]));
            body.extend(attribute(INET_DIAG_CONG, b"bbr\0"));
            let mut datagram = message(SOCK_DIAG_BY_FAMILY, SEQUENCE, &body).repeat(count);
            let is_changed = !edits.is_empty();
            for (at, value) in edits {
                let at = at % datagram.len();
                datagram[at] = value;
            }
            let (sockets, outcome) = parsed(&datagram);
            prop_assert!(sockets.len() <= count * body.len() / SOCKET_BYTES);
            if !is_changed {
                prop_assert_eq!((sockets.len(), outcome), (count, Ok(Outcome::More)));
            }
        }
    }
}
