//! What the project's bench measures with: what is sent, and what was made of it.
//!
//! No part of what this crate promises: it changes with the bench, in any version.

mod calls;
mod cutter;
mod echo;
mod interleaving;
mod matching;
mod optimum;
mod pool;
mod sizes;

pub use calls::{CallContent, ContentError, MAX_CALL_BYTES, RequestReader};
pub use cutter::Cutter;
pub use echo::{Completed, EchoError, Echoes};
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
