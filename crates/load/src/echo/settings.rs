//! How a client of an echo server works.

use crate::socket::admission::Admission;
use std::time::Duration;

/// How a client works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many connections, each with messages of its own.
    pub workers: usize,
    /// The most messages of one worker in flight.
    pub depth: u64,
    /// Pinned on each connection; `None`: the kernel's own choice.
    pub congestion_control: Option<String>,
    /// How the server recognizes the connections.
    pub admission: Admission,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Whether the client counts bytes and believes that they are right, as published clients do;
    /// [`EchoClient::fault`](super::client::EchoClient::fault) says what a check finds meanwhile.
    pub is_trusting: bool,
    /// Whether the thread has a core of its own: before it sleeps, it polls for a while, so that its
    /// wake-ups do not limit the server.
    pub is_polling: bool,
}
