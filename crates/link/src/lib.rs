//! An emulated link between two network namespaces, with the kernel's own TCP at both ends.
//!
//! - [`model`], without I/O: when each packet arrives, or that it does not;
//! - `relay` is the thread that carries packets as the model says: a `lane` for each direction, `framing`
//!   to find packets, `priority` over other programs, and `stops` for when it stood still; `calibrate`
//!   takes off the delay that the relay itself adds, as `ping_pong` measures it like a program;
//! - [`namespace`] makes networks, and `supervisor` lets nothing outlive the command.
//!
//! Laws: plain blocking code; time is CLOCK_MONOTONIC; nothing allocates without bound or prints while
//! packets are carried; each `unsafe` block gives its reason.

#![warn(missing_debug_implementations)]

pub mod model;
pub mod namespace;
mod ping_pong;
mod relay;
mod supervisor;

pub use ping_pong::{MAX_ROUND_TRIPS, PING_PONG_BYTES, ping_pong};
pub use relay::{
    CALIBRATION_BITS_PER_S, CALIBRATION_DELAY_NS, Calibration, Counts, Departures, Framing,
    OFFLOADED_BYTES, Relay, RelayError, Report, Segment, Stops, calibrate,
};
pub use supervisor::{enter, refusal};
