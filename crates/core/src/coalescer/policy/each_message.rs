//! `nodelay` and `nagle`: a write per message. They differ in the kernel alone.

use super::{Moment, Policy};
use crate::Reason;

#[derive(Debug)]
pub(in super::super) struct EachMessage;

impl Policy for EachMessage {
    fn on_message(&mut self, _: Moment) -> Option<Reason> {
        Some(Reason::EachMessage)
    }

    /// Held is only what the socket did not take.
    fn on_tick(&mut self, _: Moment, _: bool) -> Option<Reason> {
        Some(Reason::Tick)
    }
}
