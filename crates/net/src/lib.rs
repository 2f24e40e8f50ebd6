//! Linux I/O of tinygram: many threads on one connection, and what the bench is made of.
//!
//! Laws: plain blocking code, no async runtime; time is CLOCK_MONOTONIC in nanoseconds; nothing
//! allocates or prints inside a measured loop; each `unsafe` block gives its reason.

#[cfg(feature = "bench")]
pub mod bench;
mod coalescing;

// What this project's Python module shares with the above. Hidden, for it may change in any version.
#[doc(hidden)]
pub mod clock;
#[doc(hidden)]
pub mod epoll;
#[doc(hidden)]
pub mod process;
#[doc(hidden)]
pub mod socket;
#[doc(hidden)]
pub mod timer;

pub use coalescing::{CoalescingSocket, Failure, FlushError, SendError, flush_all};
pub use tinygram_core::{Histogram, KnobError, Knobs, Reason, Stats, Strategy};
