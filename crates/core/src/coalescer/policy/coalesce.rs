//! `coalesce`: a write when the first message's hold has ended, and not before.

use super::{Moment, Policy};
use crate::Reason;

#[derive(Debug)]
pub(in super::super) struct Coalesce;

impl Policy for Coalesce {
    fn on_message(&mut self, _: Moment) -> Option<Reason> {
        None
    }

    fn on_tick(&mut self, _: Moment, _: bool) -> Option<Reason> {
        None
    }

    fn waits_for_time(&self) -> bool {
        true
    }
}
