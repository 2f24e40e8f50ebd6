//! When to send, and what tinygram measures with, without I/O.
//!
//! Laws: time and bytes are arguments; everything is deterministic; no socket, clock or thread.

#![forbid(unsafe_code)]

pub mod bench;
mod coalescer;
mod generator;
mod histogram;
mod schedule;

pub use coalescer::{Coalescer, KnobError, Knobs, Next, Reason, Stats, Strategy};
pub use histogram::{Histogram, HistogramError, MissingValues};
pub use schedule::{Arrival, MAX_MESSAGES, Schedule, ScheduleError};

use generator::Generator;
