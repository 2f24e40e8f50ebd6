//! Callers: how many, on which connections, and when.

use crate::{schedule::Span, socket::admission::Admission};
use std::net::SocketAddr;
use tinygram_net::clock::monotonic_ns;

/// The connections that callers call on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// A connection for each request.
    PerRequest,
    /// A connection for each caller.
    PerCaller,
    /// One connection for all.
    Shared {
        /// The most requests in flight.
        depth: usize,
    },
    /// A connection for each caller, and one thread for all of them.
    Many {
        /// Whether requests and reads are handed over by io_uring(7), many at a time.
        is_ring: bool,
    },
}

/// Callers, and how they call.
#[derive(Clone, Debug)]
pub struct CallOptions {
    /// The server.
    pub address: SocketAddr,
    /// How many call at a time.
    pub callers: usize,
    /// The connections that they call on.
    pub connections: Connections,
    /// Writes of a request, of equal length; at most one for each byte.
    pub sends_per_request: usize,
    /// TCP_NODELAY of their connections.
    pub is_nodelay: bool,
    /// Congestion control of their connections.
    pub congestion_control: String,
    /// Calls of each caller before the start.
    pub warm_up_calls: u64,
    /// How the server recognizes their connections.
    pub admission: Admission,
}

impl Span {
    /// All time from now on.
    pub fn always() -> Self {
        Self {
            start_ns: monotonic_ns(),
            end_ns: u64::MAX,
            calls: None,
            settled_ns: None,
            own_ns: 0,
        }
    }

    /// The time from which on a caller's time in a slice counts. If an earlier call has lasted into the
    /// settled slice, it is when the slice had settled, for the caller waited all along; otherwise it is
    /// `called_ns`, when the caller began to connect for, or to send, the first measured call.
    pub fn counts_from_ns(&self, arrived_ns: u64, called_ns: Option<u64>) -> Option<u64> {
        self.settled_ns
            .filter(|&settled_ns| settled_ns < arrived_ns)
            .or(called_ns)
    }

    /// The time until which a caller's time in a slice counts: the end of its last call, `ended_ns`. It is
    /// the slice's own end if the caller made no call, or if that call lasted beyond it for longer than
    /// the slice measures: then the rest belongs to later slices.
    pub fn counts_until_ns(&self, ended_ns: Option<u64>) -> u64 {
        let measured_ns = self
            .end_ns
            .saturating_sub(self.settled_ns.unwrap_or(self.start_ns));
        let latest_ns = self.end_ns.saturating_add(measured_ns);
        ended_ns
            .filter(|&ended_ns| ended_ns <= latest_ns)
            .unwrap_or(self.end_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_that_waits_has_its_time_in_all_slices_that_it_waits_in() {
        let span = Span {
            start_ns: 1_000,
            end_ns: 1_100,
            calls: None,
            settled_ns: Some(1_020),
            own_ns: 0,
        };
        assert_eq!(span.counts_from_ns(1_000, None), None);
        assert_eq!(span.counts_from_ns(1_000, Some(1_030)), Some(1_030));
        assert_eq!(span.counts_from_ns(1_050, Some(1_050)), Some(1_020));
        assert_eq!(span.counts_from_ns(9_000, None), Some(1_020));
        assert_eq!(span.counts_until_ns(Some(1_180)), 1_180);
        assert_eq!(span.counts_until_ns(Some(1_181)), 1_100);
        assert_eq!(span.counts_until_ns(None), 1_100);
    }
}
