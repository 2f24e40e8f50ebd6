//! `fanout`: one publisher, many subscribers, every message to all of them.
//!
//! [`tally`] adds up receipts, without I/O; [`subscribers`] has all receiving ends on one thread, and
//! [`clock`] what they know of a publisher on another host.
//! [`publisher`] says when a native publisher publishes; [`crate::sends`] writes to all subscribers.

pub mod clock;
pub mod publisher;
pub mod subscribers;
pub mod tally;
