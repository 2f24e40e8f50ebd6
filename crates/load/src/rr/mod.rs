//! Request and reply: the server, one event loop on one thread, and the callers: a thread each, or one
//! thread for many connections.
//!
//! The bytes are those of [`crate::messages::CallContent`]: no header, and sizes that both sides know.

mod caller;
mod callers;
mod connection;
mod counts;
mod error;
mod log;
mod many;
mod options;
mod pipeline;
mod server;
mod tally;

pub use callers::Callers;
pub use counts::Counts;
pub use error::CallError;
pub use log::CallLog;
pub use options::{CallOptions, Connections};
pub use server::{Server, ServerOptions};
pub use tally::{Called, SliceTally, Tally};
