#![doc = include_str!("../README.md")]
//!
//! # The caller's side
//!
//! Call [`Coalescer::on_message`] for each message and [`Coalescer::on_tick`] at the end of each
//! iteration in which there were any, or at whose end [`Coalescer::deadline_ns`] tells a time, and do
//! what the answer says: [`Next`]. On [`Next::Write`] write
//! [`Coalescer::pending`] and then the message just handed over, and tell [`Coalescer::on_written`]
//! how much was taken, also when it was nothing; until all was taken, write again. When the socket
//! would block, call [`Coalescer::on_blocked`], and [`Coalescer::on_writable`] when it no longer
//! would. A loop that is about to wait does so until [`Coalescer::deadline_ns`] at most, and then
//! calls [`Coalescer::on_tick`]. One that always says when it is about to wait may be told so:
//! [`Coalescer::of_resting_loop`]; one that never does is [`Coalescer::of_foreign_loop`]'s. At the end write what is pending, because of [`Reason::Asked`].
//!
//! Laws: time and bytes are arguments; everything is deterministic; no socket, clock or thread.

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod coalescer;
mod histogram;

pub use coalescer::{Coalescer, KnobError, Knobs, Next, Reason, Stats, Strategy};
pub use histogram::{Histogram, HistogramError, MissingValues};
