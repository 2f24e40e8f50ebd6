//! Takes off a link's delay what the relay and the host add to it.

use super::Relay;
use crate::ping_pong::{PING_PONG_BYTES, ping_pong};
use std::{io, net::Ipv4Addr, os::fd::BorrowedFd};

/// How many looks at the link there are: the first finds nearly all of the excess, and the others what
/// a relay adds that sleeps less. They are many and short, and their median counts: a host that is busy
/// during one of them does no harm. The last look takes nothing off, and tells what is left.
pub(super) const LOOKS: u64 = 7;
/// How long a look may take, if that is enough for `LEAST_ROUND_TRIPS`.
const LOOK_NS: u64 = 120_000_000;
const LEAST_ROUND_TRIPS: u64 = 6;
const MOST_ROUND_TRIPS: u64 = 1_000;

/// The result of a calibration; times are in nanoseconds, each a median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// How long a round trip of the packets that were sent is to take.
    pub asked_rtt_ns: u64,
    /// How long it took before.
    pub found_rtt_ns: u64,
    /// How long it took in the last look, with all of `excess_ns` taken off.
    pub left_rtt_ns: u64,
    /// The time that was taken off, half of it in each direction.
    pub excess_ns: u64,
    /// How many round trips there were in each of the looks.
    pub round_trips: u64,
}

/// Look at a link that is up, by a ping-pong without jitter and loss, and take half of what is too
/// much off each direction. Nothing else may be on the link meanwhile.
///
/// # Errors
/// Those of [`ping_pong`].
pub fn calibrate(
    relay: &Relay,
    near: BorrowedFd<'_>,
    far: BorrowedFd<'_>,
    far_address: Ipv4Addr,
) -> io::Result<Calibration> {
    let asked_rtt_ns = relay.calibration_rtt_ns(PING_PONG_BYTES);
    let round_trips = (LOOK_NS / asked_rtt_ns.max(1)).clamp(LEAST_ROUND_TRIPS, MOST_ROUND_TRIPS);
    let look = || ping_pong(near, far, far_address, round_trips as usize).map(median_ns);
    relay.set_excess_ns(0);
    relay.set_calibrating(true);
    let calibrated = look().and_then(|found_rtt_ns| {
        let mut excess_ns = corrected_ns(0, found_rtt_ns, asked_rtt_ns);
        let mut corrected = Vec::new();
        for _ in 2..LOOKS {
            relay.set_excess_ns(excess_ns);
            corrected.push(corrected_ns(excess_ns, look()?, asked_rtt_ns));
            corrected.sort_unstable();
            excess_ns = corrected[corrected.len() / 2];
        }
        relay.set_excess_ns(excess_ns);
        Ok(Calibration {
            asked_rtt_ns,
            found_rtt_ns,
            left_rtt_ns: look()?,
            excess_ns,
            round_trips,
        })
    });
    relay.set_calibrating(false);
    calibrated
}

/// The excess to take off next, if with `excess_ns` taken off a round trip took `rtt_ns`.
fn corrected_ns(excess_ns: u64, rtt_ns: u64, asked_rtt_ns: u64) -> u64 {
    (excess_ns + rtt_ns).saturating_sub(asked_rtt_ns)
}

/// The median of round trips, at least one, without the first ones, which find nothing in the caches.
fn median_ns(mut round_trips_ns: Vec<u64>) -> u64 {
    let first = (round_trips_ns.len() / 8 + 1).min(round_trips_ns.len() - 1);
    let kept = &mut round_trips_ns[first..];
    kept.sort_unstable();
    kept[kept.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_trips_are_left_out() {
        assert_eq!(median_ns(vec![900, 800, 3, 1, 2, 5, 4, 9]), 4);
        assert_eq!(median_ns(vec![7]), 7);
        assert_eq!(median_ns(vec![9, 7]), 7);
    }

    #[test]
    fn what_was_taken_off_too_much_is_given_back_and_never_more() {
        assert_eq!(corrected_ns(0, 1_060, 1_000), 60);
        assert_eq!(corrected_ns(60, 990, 1_000), 50);
        assert_eq!(corrected_ns(60, 900, 1_000), 0);
    }
}
