//! When to send, and what tinygram measures with, without I/O.
//!
//! Laws: time and bytes are arguments; everything is deterministic; no socket, clock or thread.

#![forbid(unsafe_code)]

mod coalescer;
mod generator;
mod histogram;
mod interleaving;
mod matching;
mod onoff;
mod optimum;
mod pool;
mod schedule;

pub use coalescer::{Coalescer, KnobError, Knobs, Next, Reason, Stats, Strategy};
pub use generator::Generator;
pub use histogram::{Histogram, HistogramError, MissingValues};
pub use interleaving::arrivals;
pub use matching::{MatchError, Note, match_receipts};
pub use optimum::{Optimum, offline_optimum};
pub use pool::{MAX_PRODUCERS, MessagePool, PoolError, StreamCheck, StreamError};
pub use schedule::{Arrival, Schedule, ScheduleError};
