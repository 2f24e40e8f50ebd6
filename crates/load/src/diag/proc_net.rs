//! Lines of /proc/net/tcp and /proc/net/tcp6 (proc_pid_net(5)), for use without sock_diag. No I/O.

use super::{
    fields::Structure,
    socket::{Socket, SocketId, State, Timer},
};
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// The length of a clock tick as user space sees it (USER_HZ, which is 100 on every architecture but alpha).
const MS_PER_TICK: u32 = 10;
/// How much of a line an error shows.
const SHOWN_CHARACTERS: usize = 80;
/// The words of a connection's line; half-open connections and old ones have fewer.
const MAX_WORDS: usize = 17;

/// The line is not one of /proc/net/tcp.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("no line of /proc/net/tcp, for its {field}: {line:?}")]
pub struct LineError {
    field: &'static str,
    line: String,
}

/// Read a line other than the heading.
///
/// It has neither a listener's backlog nor, except for the congestion window, `struct tcp_info`.
///
/// # Errors
/// [`LineError`] names the field that is missing or not what it should be.
pub fn parse_line(line: &str) -> Result<Socket, LineError> {
    let words: Vec<&str> = line.split_ascii_whitespace().take(MAX_WORDS).collect();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let fault = |field| LineError {
        field,
        line: line.chars().take(SHOWN_CHARACTERS).collect(),
    };
    let local = address(word(1)).ok_or_else(|| fault("local address"))?;
    let remote = address(word(2)).ok_or_else(|| fault("remote address"))?;
    let state = state(word(3)).ok_or_else(|| fault("state"))?;
    let (send_queue, receive_queue) = pair(word(4)).ok_or_else(|| fault("queues"))?;
    let (timer, ticks) = pair(word(5)).ok_or_else(|| fault("timer"))?;
    let user_id = word(7).parse().map_err(|_| fault("user"))?;
    let inode = word(9).parse().map_err(|_| fault("inode"))?;
    let is_listener = state == State::Listen;
    Ok(Socket {
        id: SocketId {
            local,
            remote,
            interface: 0,
            cookie: SocketId::NO_COOKIE,
        },
        state,
        timer: Timer::from_number(
            u8::try_from(timer).unwrap_or_default(),
            ticks.saturating_mul(MS_PER_TICK),
        ),
        receive_queue,
        send_queue: (!is_listener).then_some(send_queue),
        user_id,
        inode,
        cwnd_segments: word(15).parse().ok().filter(|_| !is_listener),
        info: Structure::default(),
        memory: Structure::default(),
        congestion_control: String::new(),
    })
}

fn state(text: &str) -> Option<State> {
    State::from_number(u8::try_from(hexadecimal(text)?).ok()?)
}

/// `0100007F:1F90`: the address in words of 4 bytes as they are in memory, the port as a number.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let mut octets = [0; 16];
    let words = octets.chunks_exact_mut(4).take(ip.len() / 8);
    for (at, octets) in words.enumerate() {
        let word = hexadecimal(ip.get(8 * at..8 * at + 8)?)?;
        octets.copy_from_slice(&word.to_ne_bytes());
    }
    let [a, b, c, d, ..] = octets;
    let ip = match ip.len() {
        8 => IpAddr::from([a, b, c, d]),
        32 => IpAddr::from(octets),
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::try_from(hexadecimal(port)?).ok()?))
}

fn pair(text: &str) -> Option<(u32, u32)> {
    let (first, second) = text.split_once(':')?;
    Some((hexadecimal(first)?, hexadecimal(second)?))
}

/// Digits only: `from_str_radix` would take a sign, too.
fn hexadecimal(text: &str) -> Option<u32> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(text, 16).ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LISTENER: &str = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 639 1 00000000d23c3462 100 0 0 10 0                       ";
    const CONNECTION: &str = "   1: 0100007F:853E 0100007F:9FE3 01 0000000A:00000005 01:00000014 00000000  1000        0 4242 2 000000006f9ccde6 20 4 30 10 -1";
    const HALF_OPEN: &str = "   2: 0100007F:1F90 0100007F:9FE4 03 00000000:00000000 01:00000064 00000000     0        0 0 1 0000000054d848df";
    const IPV6: &str = "   0: 00000000000000000000000001000000:1F90 0000000000000000FFFF00000100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 7 1 0 100 0 0 10 0";

    #[test]
    fn a_connection_has_its_queues_timer_and_window() {
        let socket = parse_line(CONNECTION).unwrap();
        assert_eq!(socket.id.local, "127.0.0.1:34110".parse().unwrap());
        assert_eq!(socket.id.remote, "127.0.0.1:40931".parse().unwrap());
        assert_eq!(socket.state, State::Established);
        assert_eq!((socket.send_queue, socket.receive_queue), (Some(10), 5));
        assert_eq!(socket.timer, Timer::from_number(1, 200));
        assert_eq!((socket.user_id, socket.inode), (1000, 4242));
        assert_eq!(socket.cwnd_segments, Some(10));
        assert_eq!(socket.unacknowledged_bytes(), None);
    }

    #[test]
    fn a_listener_has_an_accept_queue_and_no_backlog() {
        let socket = parse_line(LISTENER).unwrap();
        assert_eq!(socket.state, State::Listen);
        assert_eq!((socket.receive_queue, socket.send_queue), (3, None));
        assert_eq!((socket.timer, socket.cwnd_segments), (None, None));
    }

    #[test]
    fn a_half_open_connections_line_is_shorter() {
        let socket = parse_line(HALF_OPEN).unwrap();
        assert_eq!((socket.state, socket.inode), (State::SynReceived, 0));
        assert_eq!(socket.cwnd_segments, None);
    }

    #[test]
    fn ipv6_addresses_are_four_words() {
        let socket = parse_line(IPV6).unwrap();
        assert_eq!(socket.id.local, "[::1]:8080".parse().unwrap());
        assert_eq!(socket.id.remote, "[::ffff:127.0.0.1]:80".parse().unwrap());
    }

    #[test]
    fn a_fault_names_the_field_and_shows_the_line() {
        let told = |line: &str| parse_line(line).unwrap_err().to_string();
        assert_eq!(
            told("0: here"),
            "no line of /proc/net/tcp, for its local address: \"0: here\""
        );
        let state = CONNECTION.replacen(" 01 ", " 0F ", 1);
        assert!(told(&state).contains("for its state"));
        let queues = CONNECTION.replacen("0000000A:", "+000000A:", 1);
        assert!(told(&queues).contains("for its queues"));
        let inode = CONNECTION.replacen("4242", "-1", 1);
        assert!(told(&inode).contains("for its inode"));
        assert!(told(&"x".repeat(10_000)).len() < 200);
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in ".{0,200}") {
            let _refused_or_not = parse_line(&line);
        }

        #[test]
        fn a_line_with_a_word_changed_is_read_or_refused(at in 0usize..17, word in "[0-9A-Fa-f:é]{0,40}") {
            let mut words: Vec<&str> = CONNECTION.split_ascii_whitespace().collect();
            words[at] = &word;
            let _refused_or_not = parse_line(&words.join(" "));
        }

        #[test]
        fn addresses_and_queues_are_read_as_they_are_written(
            ip: [u8; 4], port: u16, send: u32, receive: u32
        ) {
            let ip_word = u32::from_ne_bytes(ip);
            let line = format!("9: {ip_word:08X}:{port:04X} 00000000:0000 01 {send:08X}:{receive:08X} 00:00000000 00000000 0 0 1 1 0");
            let socket = parse_line(&line).unwrap();
            prop_assert_eq!(socket.id.local, SocketAddr::from((ip, port)));
            prop_assert_eq!((socket.send_queue, socket.receive_queue), (Some(send), receive));
        }
    }
}
