//! What a link does to packets, without I/O: when each one arrives, or that it does not.
//!
//! `spec` says what one direction of a link is like, `direction` what becomes of each packet.

mod direction;
#[cfg(test)]
mod properties;
mod spec;

pub use direction::{Direction, Offer};
pub use spec::{ETHERNET_BYTES, LinkError, LinkSpec, Load, RTT_FLOOR_NS};
