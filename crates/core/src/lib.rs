//! What tinygram measures with, without I/O.
//!
//! Laws: time and bytes are arguments; everything is deterministic; no socket, clock or thread.

#![forbid(unsafe_code)]

mod generator;
mod histogram;
mod matching;
mod pool;
mod schedule;

pub use generator::Generator;
pub use histogram::{Histogram, HistogramError};
pub use matching::{MatchError, Note, match_receipts};
pub use pool::{MessagePool, PoolError, StreamCheck, StreamError};
pub use schedule::{Arrival, Schedule, ScheduleError};
