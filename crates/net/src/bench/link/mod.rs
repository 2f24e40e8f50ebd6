//! An emulated link between two network namespaces, with the kernel's own TCP at both ends.
//!
//! - `relay` is the thread that carries packets as [`tinygram_core::link`] says: a `lane` for each
//!   direction, `framing` for what is a packet, `priority` before other programs, and `stops` of its own;
//! - `device` makes what packets go through, with `device_requests`, the bytes that ask for it;
//! - `ping_pong` sees the link as a program does, and `calibrate` takes off what the relay itself adds;
//! - `routes` reads where the host has routes to, and `address` finds networks that none covers;
//! - `supervisor` lets nothing outlive the command.

mod address;
mod calibrate;
mod carrier;
mod device;
mod device_requests;
mod framing;
mod lane;
mod ping_pong;
mod priority;
mod relay;
mod routes;
mod stops;
mod supervisor;
#[cfg(test)]
mod tests;

pub use address::{MAX_NETWORKS, unrouted_networks};
pub use calibrate::{Calibration, calibrate};
pub use device::{End, make_veth, open_tun, packet_socket};
pub use framing::Framing;
pub use lane::Counts;
pub use ping_pong::{MAX_ROUND_TRIPS, PING_PONG_BYTES, ping_pong};
pub use relay::{CALIBRATION_BITS_PER_S, CALIBRATION_DELAY_NS, Relay, RelayError, Report};
pub use routes::{Route, host_routes, parse_routes};
pub use stops::Stops;
pub use supervisor::{enter, refusal};
