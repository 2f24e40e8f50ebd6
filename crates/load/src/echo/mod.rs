//! Echo: a server that sends back what it reads, and a client that checks every byte of it.
//!
//! Both are one thread around epoll(7), so that a server under test has no better neighbour than
//! the limit that it is measured against.

mod bounds;
pub mod client;
mod connection;
pub mod exchange;
mod reply;
mod run;
pub mod server;
mod settings;
mod worker;

pub use reply::Reply;

#[cfg(test)]
mod hostile_peers;
#[cfg(test)]
mod tests;
