//! Messages and the check of what came of them, without I/O: bytes and times are arguments.
//!
//! `pool` has the messages of a stream, `check` compares every byte of it; `interleaving` knows those
//! of several producers, `spread` those on many connections. `matching` compares sent messages with the
//! receiver's notes, `in_slices` counts the messages of each slice. `cutter` and `echo` are the two ends
//! of an echo, `calls` has the bytes of requests and replies, `sizes` the wire protocol of that workload,
//! `publications` the messages to many subscribers.

mod calls;
mod check;
mod cutter;
mod echo;
mod in_slices;
mod interleaving;
mod matching;
mod pool;
mod publications;
mod sizes;
mod spread;

pub use calls::{CallContent, ContentError, MAX_CALL_BYTES, ReplyReader, RequestReader};
pub use check::{StreamCheck, StreamError};
pub use cutter::Cutter;
pub use echo::{Completed, EchoError, Echoes};
pub use in_slices::{Received, received_in_slices};
pub use interleaving::arrivals;
pub use matching::{Match, MatchError, Note, match_receipts};
pub use pool::{MAX_MESSAGE_BYTES, MAX_PRODUCERS, MessagePool, PoolError};
pub use publications::{Follower, HEADER_BYTES, PublicationError, Publications};
pub use sizes::{
    ACKNOWLEDGEMENT_BYTES, Acknowledgements, Event, Exchange, Limits, SETUP_BYTES, Setup,
    WireError, sample_content,
};
pub use spread::{Spread, SpreadError};
