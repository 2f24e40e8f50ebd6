//! What the project's bench is made of: two processes that send, receive, count and keep time.
//!
//! No part of what this crate promises: it changes with the bench, in any version. It needs a C
//! compiler, for the library that counts writes.

pub mod diag;
pub mod echo;
pub mod link;
mod margin;
pub mod namespace;
mod netlink;
pub mod pacer;
pub mod process;
pub mod receiver;
pub mod rr;
pub mod sender;
pub mod sizes;
pub mod socket;
pub mod write_counts;
