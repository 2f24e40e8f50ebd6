//! What goes wrong with callers.

use std::{io, net::SocketAddr};
use thiserror::Error;

/// Why callers stopped.
#[derive(Debug, Error)]
pub enum CallError {
    /// Connecting failed.
    #[error("connecting to {address} failed: {source}{}", remedy(.source))]
    Connect {
        /// Address of the server.
        address: SocketAddr,
        /// What the kernel says.
        source: io::Error,
    },
    /// A request could not be sent.
    #[error("sending request {index} of a connection failed: {source}")]
    Send {
        /// Which of the connection's requests.
        index: u64,
        /// What the kernel says.
        source: io::Error,
    },
    /// A reply could not be read.
    #[error("waiting for the reply to request {index} of a connection failed: {source}")]
    Receive {
        /// Which of the connection's requests.
        index: u64,
        /// What the kernel says.
        source: io::Error,
    },
    /// The server ended the connection before the reply was whole.
    #[error(
        "the server ended the connection after {received} of the {expected} bytes of the reply to \
         its request {index}"
    )]
    ShortReply {
        /// Which of the connection's requests.
        index: u64,
        /// Bytes of the reply that came.
        received: u64,
        /// Bytes that it should have.
        expected: u64,
    },
    /// A reply is not the one that the request should get.
    #[error(
        "the reply to request {index} of a connection is wrong: byte j of reply i is (i + j) \
         modulo 251"
    )]
    WrongReply {
        /// Which of the connection's requests.
        index: u64,
    },
    /// There was a reply, or more of one, before the request that it would belong to.
    #[error(
        "bytes of a reply came before request {index} of a connection was sent: the server replies \
         before it is asked, or more than it should"
    )]
    EarlyReply {
        /// Which of the connection's requests.
        index: u64,
    },
    /// A thread could not be started, or ended by a fault.
    #[error("a caller's thread failed: {0}")]
    Thread(String),
    /// Time was up.
    #[error("the callers were not done in time: {done} of {threads} threads were")]
    TimedOut {
        /// Threads that were done.
        done: usize,
        /// Threads in all.
        threads: usize,
    },
    /// Several callers failed.
    #[error("{failed} of {threads} threads of callers failed, the first: {first}")]
    Several {
        /// Threads that failed.
        failed: usize,
        /// Threads in all.
        threads: usize,
        /// The first failure.
        first: Box<CallError>,
    },
}

fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EADDRNOTAVAIL) => {
            " (no local port is free: make fewer calls per second, or widen \
             net.ipv4.ip_local_port_range)"
        }
        Some(libc::EMFILE) => " (no descriptor is free: use fewer callers, or raise ulimit -n)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_can_mend_is_said() {
        let failed = |errno| {
            CallError::Connect {
                address: "127.0.0.1:9".parse().unwrap(),
                source: io::Error::from_raw_os_error(errno),
            }
            .to_string()
        };
        assert!(failed(libc::EADDRNOTAVAIL).contains("ip_local_port_range"));
        assert!(failed(libc::EMFILE).contains("ulimit -n"));
        assert!(failed(libc::ECONNREFUSED).starts_with("connecting to 127.0.0.1:9 failed"));
    }
}
