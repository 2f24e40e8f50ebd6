//! Callers: how many, on which connections, and when.

use std::net::{Ipv4Addr, SocketAddrV4};
use tinygram_net::clock::monotonic_ns;

/// What callers call on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// A connection for each request.
    PerRequest,
    /// A connection for each caller.
    PerCaller,
    /// One connection for all.
    Shared {
        /// Requests in flight at most.
        depth: usize,
    },
}

/// Callers, and how they call.
#[derive(Clone, Debug)]
pub struct CallOptions {
    /// The server.
    pub address: SocketAddrV4,
    /// How many call at a time.
    pub callers: usize,
    /// What they call on.
    pub connections: Connections,
    /// Writes of a request, of equal length; at most a byte each.
    pub sends_per_request: usize,
    /// TCP_NODELAY of their connections.
    pub is_nodelay: bool,
    /// Congestion control of their connections.
    pub congestion_control: String,
    /// Calls of each caller before the start.
    pub warm_up_calls: u64,
    /// Where they connect from; `None`: the kernel picks.
    pub own_address: Option<Ipv4Addr>,
}

/// When callers call. A call that has begun is finished, whatever the time.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Not before.
    pub start_ns: u64,
    /// No call begins after it.
    pub end_ns: u64,
    /// Calls of each caller at most; of callers that share a connection, so many times their number.
    pub calls: Option<u64>,
    /// Where it is a slice: calls that begin from here on are measured.
    pub settled_ns: Option<u64>,
}

impl Span {
    /// All time from now on.
    pub fn always() -> Self {
        Self {
            start_ns: monotonic_ns(),
            end_ns: u64::MAX,
            calls: None,
            settled_ns: None,
        }
    }

    /// Whether a call that began then is measured.
    pub fn is_measured(&self, begun_ns: u64) -> bool {
        self.settled_ns
            .is_none_or(|settled_ns| begun_ns >= settled_ns)
    }
}
