//! The cost of each strategy in virtual time: the library's own [`Coalescer`] in models of the loops that
//! drive it. Without a clock, a socket and a host, the numbers are the same each time, and a grid that
//! takes a day to measure takes seconds.
//!
//! A [`Cell`] is a load on a kind of loop, over a link; [`Costs`] say how long a call, an iteration, a
//! sleep and a write take; [`run`] gives an [`Outcome`], and [`judge`] compares those of `adaptive` with
//! those of the best fixed strategy.
//!
//! Laws: everything is deterministic; all code that decides when messages leave is in `tinygram-core`.
//!
//! [`Coalescer`]: tinygram_core::Coalescer

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod cells;
mod costs;
mod judge;
mod outcome;
mod run;
mod sender;
mod source;
mod threads;
mod wire;

pub use cells::{Cell, Grid, Load, LoopKind, Program};
pub use costs::{Bound, CONFIRMING_MODELS, Costs, CostsError, Machine, Model, TUNING_MODELS};
pub use judge::{Judged, Summary, judge, summary};
pub use outcome::Outcome;
pub use run::run;
pub use wire::Link;
