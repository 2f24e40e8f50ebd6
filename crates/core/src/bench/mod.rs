//! What the project's bench measures with: what is sent, and what was made of it.
//!
//! No part of what this crate promises: it changes with the bench, in any version.

mod interleaving;
mod matching;
mod optimum;
mod pool;
mod sizes;

pub use interleaving::arrivals;
pub use matching::{MatchError, Note, match_receipts};
pub use optimum::{Optimum, offline_optimum};
pub use pool::{
    MAX_MESSAGE_BYTES, MAX_PRODUCERS, MessagePool, PoolError, StreamCheck, StreamError,
};
pub use sizes::{
    ACKNOWLEDGEMENT_BYTES, Acknowledgements, Event, Exchange, Limits, SETUP_BYTES, Setup,
    WireError, sample_content,
};
