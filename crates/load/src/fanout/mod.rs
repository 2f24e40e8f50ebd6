//! `fanout`: one publisher, many subscribers, every message to all of them.
//!
//! [`tally`] adds up what came, without I/O; [`subscribers`] has all the receiving ends on one thread.
//! [`publisher`] says when a native publisher publishes; a [`pass`] writes to all: [`sends`] by a send call
//! for each, [`ring`] by one call of io_uring for all of them.

pub mod pass;
pub mod publisher;
pub mod ring;
pub mod sends;
pub mod subscribers;
pub mod tally;
