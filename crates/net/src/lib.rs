#![doc = include_str!("../README.md")]
//!
//! Laws: plain blocking code, no async runtime; time is CLOCK_MONOTONIC; nothing allocates without
//! bound or prints while messages are sent; each `unsafe` block gives its reason.

#![warn(missing_debug_implementations)]

#[cfg(not(target_os = "linux"))]
compile_error!("tinygram-net is for Linux; tinygram-core, which does no I/O, is for all systems");

mod coalescing;

// For this project's Python module and bench: hidden, because it may change in any version.
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

#[doc(hidden)]
pub use coalescing::Leftover;
pub use coalescing::{CoalescingSocket, Failure, FlushError, SendError, flush_all};
pub use tinygram_core::{Histogram, KnobError, Knobs, Reason, Stats, Strategy};
