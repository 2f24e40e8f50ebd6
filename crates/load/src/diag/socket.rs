//! A TCP socket as the kernel describes it.

use super::fields::{self, Structure};
use std::net::{IpAddr, SocketAddr};

/// The identity of a connection or listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketId {
    /// This end.
    pub local: SocketAddr,
    /// The other end; unspecified where there is none.
    pub remote: SocketAddr,
    /// The device that the socket is bound to; 0: any.
    pub interface: u32,
    /// Distinguishes the socket from a later one between the same addresses.
    pub cookie: [u32; 2],
}

impl SocketId {
    /// Matches whatever cookie the socket has (INET_DIAG_NOCOOKIE).
    pub const NO_COOKIE: [u32; 2] = [u32::MAX; 2];
}

/// The states of RFC 9293 and their numbers in Linux (net/tcp_states.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Data flows.
    Established = 1,
    /// A SYN was sent.
    SynSent = 2,
    /// Half open: a SYN came and was answered.
    SynReceived = 3,
    /// Our FIN was sent.
    FinWait1 = 4,
    /// Our FIN was acknowledged.
    FinWait2 = 5,
    /// Over; late segments are waited out.
    TimeWait = 6,
    /// No connection.
    Close = 7,
    /// The peer's FIN came.
    CloseWait = 8,
    /// The peer's FIN came, and ours was sent.
    LastAck = 9,
    /// Accepts connections.
    Listen = 10,
    /// Both sent a FIN at once.
    Closing = 11,
}

/// TCP_NEW_SYN_RECV: what the kernel itself calls a half-open connection.
const NEW_SYN_RECEIVED: u8 = 12;

const STATES: [(State, &str); 11] = [
    (State::Established, "ESTABLISHED"),
    (State::SynSent, "SYN_SENT"),
    (State::SynReceived, "SYN_RECEIVED"),
    (State::FinWait1, "FIN_WAIT_1"),
    (State::FinWait2, "FIN_WAIT_2"),
    (State::TimeWait, "TIME_WAIT"),
    (State::Close, "CLOSED"),
    (State::CloseWait, "CLOSE_WAIT"),
    (State::LastAck, "LAST_ACK"),
    (State::Listen, "LISTEN"),
    (State::Closing, "CLOSING"),
];

impl State {
    /// The state with this number; `None` for a number that this version does not know.
    pub fn from_number(number: u8) -> Option<Self> {
        if number == NEW_SYN_RECEIVED {
            return Some(Self::SynReceived);
        }
        let index = usize::from(number).checked_sub(1)?;
        STATES.get(index).map(|&(state, _)| state)
    }

    /// The state's name in RFC 9293.
    pub fn name(self) -> &'static str {
        STATES[self as usize - 1].1
    }
}

/// The timer that runs on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// `retransmission`, `keepalive`, `time-wait` or `zero-window probe`.
    pub name: &'static str,
    /// When it expires, in milliseconds from now; 0 also if it is overdue.
    pub expires_ms: u32,
}

impl Timer {
    /// From `idiag_timer` and `idiag_expires`, or `tr` of /proc/net/tcp; `None` where none runs.
    pub fn from_number(number: u8, expires_ms: u32) -> Option<Self> {
        let name = match number {
            1 => "retransmission",
            2 => "keepalive",
            3 => "time-wait",
            4 => "zero-window probe",
            _ => return None,
        };
        Some(Self { name, expires_ms })
    }
}

/// A connection, or a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Which one.
    pub id: SocketId,
    /// Its state.
    pub state: State,
    /// What the kernel waits for.
    pub timer: Option<Timer>,
    /// Bytes that came and were not read; of a listener: connections that wait to be accepted.
    pub receive_queue: u32,
    /// Bytes not sent or not acknowledged; of a listener: how many connections may wait. `None`: not
    /// told.
    pub send_queue: Option<u32>,
    /// Whose it is.
    pub user_id: u32,
    /// Links it with descriptors; 0 where no process has one.
    pub inode: u64,
    /// Congestion window, in segments.
    pub cwnd_segments: Option<u64>,
    /// `struct tcp_info`; see [`fields::TCP_INFO`].
    pub info: Structure,
    /// See [`fields::MEMORY`].
    pub memory: Structure,
    /// Its name; empty where it is not told.
    pub congestion_control: String,
}

impl Socket {
    /// Bytes that were sent, and that the peer has not acknowledged.
    pub fn unacknowledged_bytes(&self) -> Option<u64> {
        let unsent = self.info.number(fields::UNSENT)?;
        // The kernel reads the two one after the other.
        Some(u64::from(self.send_queue?).saturating_sub(unsent))
    }

    /// Whether a connection that comes to `local` is this listener's.
    pub fn listens_at(&self, local: SocketAddr) -> bool {
        let own = self.id.local;
        let is_own_address = own.ip().to_canonical() == local.ip().to_canonical();
        let is_any_address = own.ip().is_unspecified() && own.is_ipv4() == local.is_ipv4();
        self.state == State::Listen
            && own.port() == local.port()
            && (is_own_address || is_any_address)
    }
}

/// How an address is written: an IPv4 address in an IPv6 socket as IPv4.
pub fn shown(address: SocketAddr) -> String {
    let ip: IpAddr = address.ip().to_canonical();
    SocketAddr::new(ip, address.port()).to_string()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A socket with nothing but these.
    pub fn socket(local: &str, remote: &str, state: State) -> Socket {
        Socket {
            id: SocketId {
                local: local.parse().unwrap(),
                remote: remote.parse().unwrap(),
                interface: 0,
                cookie: [0; 2],
            },
            state,
            timer: None,
            receive_queue: 0,
            send_queue: None,
            user_id: 0,
            inode: 0,
            cwnd_segments: None,
            info: Structure::default(),
            memory: Structure::default(),
            congestion_control: String::new(),
        }
    }

    #[test]
    fn every_number_has_its_state_and_name() {
        for (index, (state, name)) in STATES.into_iter().enumerate() {
            assert_eq!(state as usize, index + 1);
            assert_eq!(State::from_number(index as u8 + 1), Some(state));
            assert_eq!(state.name(), name);
        }
        assert_eq!(State::from_number(12), Some(State::SynReceived));
        assert_eq!([0, 13, 255].map(State::from_number), [None; 3]);
    }

    #[test]
    fn a_listener_takes_what_comes_to_its_address() {
        let listens = |own: &str, to: &str| {
            socket(own, "0.0.0.0:0", State::Listen).listens_at(to.parse().unwrap())
        };
        assert!(listens("127.0.0.1:80", "127.0.0.1:80"));
        assert!(listens("0.0.0.0:80", "127.0.0.1:80"));
        assert!(listens("[::]:80", "[::1]:80"));
        // The kernel calls both ends IPv6 where a listener takes both families.
        assert!(listens("[::]:80", "[::ffff:127.0.0.1]:80"));
        assert!(!listens("[::]:80", "127.0.0.1:80"));
        assert!(!listens("0.0.0.0:80", "127.0.0.1:81"));
        assert!(!listens("127.0.0.1:80", "127.0.0.2:80"));
    }

    #[test]
    fn an_ipv4_address_is_written_as_one() {
        assert_eq!(
            shown("[::ffff:127.0.0.1]:80".parse().unwrap()),
            "127.0.0.1:80"
        );
        assert_eq!(shown("[::1]:80".parse().unwrap()), "[::1]:80");
    }
}
