//! When a native publisher publishes: as a schedule says, or as soon as the last publication was handed
//! over.

use super::{
    pass::{Pass, PublishError},
    ring::RingPass,
    sends::SendsPass,
    tally::Turns,
};
use crate::{messages::Publications, schedule::Schedule};
use std::{io, os::fd::RawFd};
use tinygram_net::clock::{monotonic_ns, sleep_until_ns};

/// While so much waits in this process for subscribers that take nothing, nothing more is published.
pub const MOST_WAITING_BYTES: usize = 64 << 20;

/// A pass over these connected sockets, which stay open as long as it lives: `is_ring` by io_uring(7),
/// otherwise with a send call for each.
///
/// # Errors
/// When the kernel does not permit it.
pub fn pass(fds: Vec<RawFd>, is_ring: bool) -> io::Result<Box<dyn Pass>> {
    Ok(if is_ring {
        Box::new(RingPass::new(&fds)?)
    } else {
        Box::new(SendsPass::new(fds)?)
    })
}

/// Publish `count` times, from number 0, each as soon as the one before it was handed over.
///
/// # Errors
/// [`PublishError`]; also where a subscriber takes nothing for `patience_ns`.
pub fn warm_up(
    pass: &mut dyn Pass,
    publications: &Publications,
    count: u64,
    patience_ns: u64,
) -> Result<(), PublishError> {
    for number in 0..count {
        pass.publish(publications.message(number, monotonic_ns()))?;
        hand_over(pass, patience_ns)?;
    }
    Ok(())
}

/// When publications are due.
#[derive(Clone, Debug)]
pub enum Pace {
    /// At times of their own.
    Scheduled(Schedule),
    /// A number of them, each as soon as those before them were handed over.
    Closed(u64),
}

/// Publish in slices, from number `first`. Returns how many were published.
///
/// # Errors
/// [`PublishError`]; also where a subscriber takes nothing for `patience_ns`.
pub fn publish(
    pass: &mut dyn Pass,
    publications: &Publications,
    first: u64,
    turns: &Turns,
    pace: Pace,
    patience_ns: u64,
) -> Result<u64, PublishError> {
    let mut number = first;
    let burst = match pace {
        Pace::Closed(burst) => burst,
        Pace::Scheduled(schedule) => {
            for due_ns in schedule.in_slices(&turns.slices).all_due_ns() {
                let due_ns = turns.start_ns + due_ns;
                while monotonic_ns() < due_ns {
                    if pass.waiting().is_some() {
                        pass.wait(due_ns)?;
                    } else {
                        sleep_until_ns(due_ns);
                    }
                }
                check_bound(pass)?;
                pass.publish(publications.message(number, due_ns))?;
                number += 1;
            }
            hand_over(pass, patience_ns)?;
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
                pass.publish(publications.message(number, due_ns))?;
                number += 1;
            }
            hand_over(pass, patience_ns)?;
        }
    }
    Ok(number - first)
}

/// Go on when nothing waits any more.
fn hand_over(pass: &mut dyn Pass, patience_ns: u64) -> Result<(), PublishError> {
    let mut before = None;
    let mut give_up_ns = 0;
    while let Some(waiting) = pass.waiting() {
        if before != Some(waiting.all_bytes) {
            before = Some(waiting.all_bytes);
            give_up_ns = monotonic_ns() + patience_ns;
        } else if monotonic_ns() > give_up_ns {
            return Err(waiting.into());
        }
        pass.wait(give_up_ns)?;
    }
    Ok(())
}

fn check_bound(pass: &dyn Pass) -> Result<(), PublishError> {
    match pass.waiting() {
        Some(waiting) if waiting.all_bytes > MOST_WAITING_BYTES => Err(waiting.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "publisher_tests.rs"]
mod tests;
