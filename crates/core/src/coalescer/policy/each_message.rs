//! `nodelay` and `nagle`: a write per message. They differ only in what the kernel does.

use super::{Moment, Policy};
use crate::Reason;

#[derive(Debug)]
pub(in super::super) struct EachMessage;

impl Policy for EachMessage {
    fn on_message(&mut self, _: Moment) -> Option<Reason> {
        Some(Reason::EachMessage)
    }

    /// Only what the socket did not take is held.
    fn on_tick(&mut self, _: Moment, _: bool) -> Option<Reason> {
        Some(Reason::Tick)
    }
}
