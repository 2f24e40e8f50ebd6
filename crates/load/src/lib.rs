//! The bench's load: two processes that send, receive, serve, count and keep time.
//!
//! - Without I/O: [`messages`], their bytes and receipts; [`schedule`], when they are due; [`generator`].
//! - A room for each workload: [`stream`], [`rr`], [`echo`], [`sizes`] and [`fanout`]. [`sends`] writes to many
//!   connections at a time. [`socket::admission`] tells a client's connections from those of others.
//! - [`diag`] reads the kernel's state of sockets, by [`netlink`]; [`write_counts`] counts writes.
//!
//! Laws: plain blocking code, no async runtime; time is CLOCK_MONOTONIC; nothing allocates without
//! bound or prints while messages are sent; each `unsafe` block gives its reason.

#![warn(missing_debug_implementations)]

mod alarm;
pub mod diag;
pub mod echo;
pub mod fanout;
pub mod generator;
pub mod margin;
pub mod messages;
pub mod netlink;
pub mod process;
pub mod rr;
pub mod schedule;
pub mod sends;
pub mod sizes;
pub mod socket;
pub mod stream;
pub mod write_counts;

// The example of this page is tested here: the package of `tinygram-net` has no docs/.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/rust.md")]
struct RustReference;
