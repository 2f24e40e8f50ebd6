//! `tick` and `combine`: a write when an iteration ends, or, with threads, when the writing thread comes.

use super::{Moment, Policy};
use crate::Reason;

#[derive(Debug)]
pub(in super::super) struct Tick;

impl Policy for Tick {
    fn on_message(&mut self, _: Moment) -> Option<Reason> {
        None
    }

    fn on_tick(&mut self, _: Moment, _: bool) -> Option<Reason> {
        Some(Reason::Tick)
    }
}
