//! `sizes`: a connection per sample, messages that are acknowledged; and where the local latency
//! comes from. The wire protocol is in `crate::messages`.

pub mod client;
pub mod cycles;
pub mod faults;
mod kept;
pub mod local;
pub mod sample;
pub mod server;
#[cfg(test)]
mod tests;
