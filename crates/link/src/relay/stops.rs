//! When the relay itself stood still: stopped, or without a core.
//!
//! Packets that came meanwhile waited in a device, which does not say since when. So the relay looks at
//! the clock every [`BEAT_NS`] at least; if two looks lie further apart, it stood still for the rest.

/// How often a sleeping relay is woken.
pub(super) const BEAT_NS: u64 = 10_000_000;
/// How much later than a beat a look may be without counting as a stop: waking up takes time.
const TOLERATED_NS: u64 = 1_000_000;

/// For how long the relay was watched, and for how long it stood still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    /// From the first look to the last one, in nanoseconds.
    pub watched_ns: u64,
    /// How much of that were stops, each less one beat, in which the relay may have slept.
    pub stopped_ns: u64,
    /// How many stops there were.
    pub count: u64,
}

/// When the relay last looked at the clock.
#[derive(Debug)]
pub(super) struct LastLook {
    at_ns: u64,
}

impl LastLook {
    pub(super) fn new(now_ns: u64) -> Self {
        Self { at_ns: now_ns }
    }

    /// Look at the clock. Returns how long the relay stood still before, in nanoseconds; 0: it did not.
    pub(super) fn look(&mut self, now_ns: u64, stops: &mut Stops) -> u64 {
        let passed_ns = now_ns.saturating_sub(self.at_ns);
        self.at_ns = now_ns;
        stops.watched_ns += passed_ns;
        if passed_ns <= BEAT_NS + TOLERATED_NS {
            return 0;
        }
        stops.count += 1;
        stops.stopped_ns += passed_ns - BEAT_NS;
        passed_ns - BEAT_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn what_is_beyond_a_beat_is_a_stop() {
        let mut stops = Stops::default();
        let mut last = LastLook::new(5 * MS);
        assert_eq!(last.look(15 * MS, &mut stops), 0);
        assert_eq!(last.look(26 * MS, &mut stops), 0);
        assert_eq!(last.look(336 * MS, &mut stops), 300 * MS);
        assert_eq!(last.look(337 * MS, &mut stops), 0);
        let expected = Stops {
            watched_ns: 332 * MS,
            stopped_ns: 300 * MS,
            count: 1,
        };
        assert_eq!(stops, expected);
    }

    #[test]
    fn a_clock_that_stands_is_no_stop() {
        let mut stops = Stops::default();
        assert_eq!(LastLook::new(MS).look(MS, &mut stops), 0);
        assert_eq!(stops, Stops::default());
    }
}
