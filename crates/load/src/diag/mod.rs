//! The kernel's state of TCP connections and listeners (sock_diag(7), or /proc/net/tcp).
//!
//! Without I/O: `socket` and `fields` (the words), `request` and `reply` (the wire format), `proc_net`
//! (lines of /proc/net/tcp), `held` (which of them are kept), `sample` (sums at one instant, bounded in
//! number). `sock_diag`, `proc_files` and `options` ask; `probe` asks again and again beside a run.

pub mod fields;
mod held;
mod options;
mod probe;
mod proc_files;
mod proc_net;
mod reply;
mod request;
mod sample;
mod sock_diag;
mod socket;

pub use held::{Held, MAX_SOCKETS, Wanted};
pub use options::{Options, options_of};
pub use probe::{Probe, Recording};
pub use proc_files::read_proc;
pub use proc_net::{LineError, parse_line};
pub use reply::parse_reply;
pub use sample::{MAX_SAMPLES, Sample, Samples, column_names};
pub use sock_diag::Diag;
pub use socket::{Socket, SocketId, State, Timer, shown};

pub use super::netlink::wire::{Outcome, ReplyError};
