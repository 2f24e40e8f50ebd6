//! Linux I/O of tinygram: what receives, sends, paces and counts.
//!
//! Laws: plain blocking code, no async runtime; time is CLOCK_MONOTONIC in nanoseconds; nothing
//! allocates or prints inside a measured loop; each `unsafe` block gives its reason.

pub mod clock;
pub mod coalescing;
pub mod epoll;
pub mod namespace;
pub mod pacer;
pub mod process;
pub mod receiver;
pub mod sender;
pub mod socket;
pub mod timer;
pub mod write_counts;
