#![doc = include_str!("../README.md")]
//!
//! # The caller's side
//!
//! Call [`Coalescer::on_message`] for each message and [`Coalescer::on_tick`] at the end of each
//! iteration in which messages came, or at whose end [`Coalescer::deadline_ns`] returns a time, and do
//! what the answer says: [`Next`]. On [`Next::Write`] write [`Coalescer::pending`] and then the message
//! just handed over, and tell [`Coalescer::on_written`] how many bytes the socket took, even if it took
//! none; write again until it has taken all. When the socket would block, call
//! [`Coalescer::on_blocked`], and [`Coalescer::on_writable`] when it no longer would. A loop that is
//! about to wait does so until [`Coalescer::deadline_ns`] at most, and then calls
//! [`Coalescer::on_tick`]. For a loop that always says when it is about to wait there is
//! [`Coalescer::of_resting_loop`]; for one that never does, [`Coalescer::of_foreign_loop`]. At the end
//! write what is pending, because of [`Reason::Asked`].
//!
//! Laws: time and bytes are arguments; everything is deterministic; there is no socket, clock or thread.

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod coalescer;
mod histogram;

pub use coalescer::{Bytes, Coalescer, KnobError, Knobs, Next, Reason, Stats, Strategy};
pub use histogram::{Histogram, HistogramError, MissingValues};
