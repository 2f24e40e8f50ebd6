//! What each strategy costs in virtual time: the library's own [`Coalescer`] in models of the loops that
//! drive it. No clock, no socket and no host: the same numbers each time, and seconds for a grid that
//! takes a day to measure.
//!
//! A [`Cell`] is a load on a kind of loop, over a link; [`Costs`] say what a call, an iteration, a sleep
//! and a write take; [`run`] gives an [`Outcome`], and [`judge`] compares those of `adaptive` with
//! the best fixed strategy's.
//!
//! Laws: deterministic; whatever decides when messages leave is in `tinygram-core`, nothing here.
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
