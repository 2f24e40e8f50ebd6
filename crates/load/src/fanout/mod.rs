//! `fanout`: one publisher, many subscribers, every message to all of them.
//!
//! [`tally`] adds up what came, without I/O; [`subscribers`] has all the receiving ends on one thread.
//! [`publisher`] says when a native publisher publishes, and [`pass`] and [`ring`] how it writes to all:
//! a send call for each, or one call of io_uring for all of them.

pub mod pass;
pub mod publisher;
pub mod ring;
pub mod subscribers;
pub mod tally;
