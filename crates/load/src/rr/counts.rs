//! The counts of a server.

/// The counts of a server and its connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Connections that were accepted.
    pub accepted: u64,
    /// Whole requests.
    pub requests: u64,
    /// Requests that came in parts, except for the first request of all.
    pub split_requests: u64,
    /// How long after its first part the rest of each of these came, all together, in nanoseconds.
    pub rest_ns: u64,
    /// Reads that returned something.
    pub reads: u64,
    /// Writes that the kernel took something of.
    pub writes: u64,
    /// Connections that ended in the middle of a request.
    pub short_requests: u64,
    /// Connections that sent a wrong byte.
    pub wrong_requests: u64,
    /// Connections that failed, resets among them.
    pub failed_connections: u64,
    /// Connections that were closed because they made no progress.
    pub idle_connections: u64,
    /// Connections that were closed to make room for others.
    pub evicted_connections: u64,
    /// Connections that the kernel could not hand over.
    pub failed_accepts: u64,
    /// The most connections at a time.
    pub most_connections: u64,
    /// Connections that were not of the clients, and were closed at once.
    pub strangers: u64,
}
