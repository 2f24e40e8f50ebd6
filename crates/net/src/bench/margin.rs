//! How early to wake.

const MIN_NS: u64 = 2_000;
const MAX_NS: u64 = 100_000;

/// How early to wake, learned from past oversleep: the rest of the wait is spun.
#[derive(Clone, Copy, Debug)]
pub(in crate::bench) struct Margin {
    ns: u64,
}

impl Margin {
    /// Before anything was learned.
    pub(in crate::bench) fn new() -> Self {
        Self { ns: 50_000 }
    }

    /// So much, at most 100 µs.
    pub(in crate::bench) fn ns(self) -> u64 {
        self.ns
    }

    /// A wait ended so late.
    pub(in crate::bench) fn learn(&mut self, oversleep_ns: u64) {
        let seen = oversleep_ns.clamp(MIN_NS, MAX_NS);
        // Quickly up, slowly down: settles near the ninth decile of what was seen.
        if seen > self.ns {
            self.ns += (seen - self.ns) / 4;
        } else {
            self.ns -= (self.ns - seen) / 32;
        }
    }
}
