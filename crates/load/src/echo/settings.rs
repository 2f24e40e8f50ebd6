//! How a client of an echo server works.

use crate::socket::admission::Admission;
use std::time::Duration;

/// How a client works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Connections, each with messages of its own.
    pub workers: usize,
    /// Messages of one worker in flight at most.
    pub depth: u64,
    /// Pinned on each connection; `None`: the kernel's own choice.
    pub congestion_control: Option<String>,
    /// By what the server knows the connections.
    pub admission: Admission,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// Count bytes and believe that they are the right ones, as published clients do; what a check
    /// finds meanwhile is told by [`EchoClient::fault`](super::client::EchoClient::fault).
    pub is_trusting: bool,
    /// The thread has a core of its own: before it sleeps it asks for a while whether something has come,
    /// so that its waking up is not what limits the server.
    pub is_polling: bool,
}
