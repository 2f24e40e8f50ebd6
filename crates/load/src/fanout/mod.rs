//! `fanout`: one publisher, many subscribers, every message to all of them.
//!
//! [`tally`] adds up what came, without I/O; [`subscribers`] has all the receiving ends on one thread.
//! [`publisher`] says when a native publisher publishes; [`crate::sends`] writes to all.

pub mod publisher;
pub mod subscribers;
pub mod tally;
