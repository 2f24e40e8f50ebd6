//! The native publisher: it publishes by a schedule, or as soon as the last publication was handed over.

use super::tally::Turns;
use crate::{
    messages::Publications,
    schedule::Schedule,
    sends::{SendError, Sends, check_bound, hand_over},
};
use std::sync::Arc;
use tinygram_net::clock::{monotonic_ns, sleep_until_ns};

/// Publish `count` times, from number 0, each as soon as the one before it was handed over.
///
/// # Errors
/// [`SendError`]; also where a subscriber takes nothing for `patience_ns`.
pub fn warm_up(
    sends: &mut dyn Sends,
    publications: &Publications,
    count: u64,
    patience_ns: u64,
) -> Result<(), SendError> {
    for number in 0..count {
        to_all(sends, publications.message(number, monotonic_ns()))?;
        hand_over(sends, patience_ns)?;
    }
    Ok(())
}

/// When publications are due.
#[derive(Clone, Debug)]
pub enum Pace {
    /// At the times of a schedule.
    Scheduled(Schedule),
    /// A number of them, each as soon as those before them were handed over.
    Closed(u64),
}

/// Publish in slices, from number `first`. Returns how many were published.
///
/// # Errors
/// [`SendError`]; also where a subscriber takes nothing for `patience_ns`.
pub fn publish(
    sends: &mut dyn Sends,
    publications: &Publications,
    first: u64,
    turns: &Turns,
    pace: Pace,
    patience_ns: u64,
) -> Result<u64, SendError> {
    let mut number = first;
    let burst = match pace {
        Pace::Closed(burst) => burst,
        Pace::Scheduled(schedule) => {
            for due_ns in schedule.in_slices(&turns.slices).all_due_ns() {
                let due_ns = turns.start_ns + due_ns;
                while monotonic_ns() < due_ns {
                    if sends.waiting_bytes() > 0 {
                        sends.wait(due_ns)?;
                    } else {
                        sleep_until_ns(due_ns);
                    }
                }
                check_bound(sends)?;
                to_all(sends, publications.message(number, due_ns))?;
                number += 1;
            }
            hand_over(sends, patience_ns)?;
            return Ok(number - first);
        }
    };
    for slice in 0..turns.slices.count() {
        let begin_ns = turns.start_ns + turns.slices.begin_ns(slice);
        sleep_until_ns(begin_ns);
        loop {
            let due_ns = monotonic_ns();
            if due_ns >= begin_ns + turns.open_ns {
                break;
            }
            for _ in 0..burst {
                to_all(sends, publications.message(number, due_ns))?;
                number += 1;
            }
            hand_over(sends, patience_ns)?;
        }
    }
    Ok(number - first)
}

/// Hand a message to all subscribers; what one does not take now waits in this process.
fn to_all(sends: &mut dyn Sends, message: Vec<u8>) -> Result<(), SendError> {
    let message: Arc<[u8]> = message.into();
    for subscriber in 0..sends.connections() {
        sends.hand(subscriber, &message)?;
    }
    sends.flush()
}

#[cfg(test)]
mod tests;
