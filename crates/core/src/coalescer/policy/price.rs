//! The time that something takes, measured again and again.

/// The least and the most that anything is taken to cost, whatever a clock says.
const LEAST_NS: u32 = 500;
const MOST_NS: u32 = 100_000;
/// Each doubt lowers the price by this part of it; some 710 doubts halve it.
const DOUBT_SHARE: u32 = 1_024;
/// With so many samples a price is known. Those before may each halve it, or raise it by half, so that a
/// connection does not pay long for a price that was guessed.
const KNOWN: u8 = 3;
/// A price that may be too low is raised by this part of it: some 180 such samples double it.
const LOW_SHARE: u32 = 256;

/// Roughly a percentile of all samples: each sample moves the price at most a step towards itself,
/// however far away it is, so that the few which the scheduler or the kernel has stretched do not count
/// for more than others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Price {
    ns: u32,
    /// A longer sample moves the price up by its 2^`up_shift`-th part at most, and a shorter one moves it
    /// down by its 2^`down_shift`-th part at most.
    up_shift: u8,
    down_shift: u8,
    /// How many samples came, up to [`KNOWN`].
    samples: u8,
}

impl Price {
    /// The median. `ns`: the price until it is measured.
    pub(super) fn median(ns: u32) -> Self {
        Self {
            ns,
            up_shift: 4,
            down_shift: 4,
            samples: 0,
        }
    }

    /// A value that one sample in nine is below, for times that other causes stretch.
    pub(super) fn low(ns: u32) -> Self {
        Self {
            ns,
            up_shift: 6,
            down_shift: 3,
            samples: 0,
        }
    }

    /// Add a sample.
    pub(super) fn note(&mut self, took_ns: u64) {
        let took_ns = u32::try_from(took_ns).unwrap_or(u32::MAX);
        let most_shift = if self.is_known() { u8::MAX } else { 1 };
        self.samples = KNOWN.min(self.samples + 1);
        self.ns = if took_ns > self.ns {
            let most_ns = self.ns + (self.ns >> self.up_shift.min(most_shift));
            took_ns.min(most_ns).min(MOST_NS)
        } else {
            let least_ns = self.ns - (self.ns >> self.down_shift.min(most_shift));
            took_ns.max(least_ns).max(LEAST_NS)
        };
    }

    /// Whether it was measured often enough to be relied on.
    pub(super) fn is_known(self) -> bool {
        self.samples == KNOWN
    }

    /// No sample came this time. The true price may have fallen meanwhile, so the price is lowered a little
    /// at each doubt until it is measured again, but never below 1,023 ns.
    pub(super) fn doubt(&mut self) {
        self.ns -= self.ns / DOUBT_SHARE;
    }

    /// A sample came that is too long to be the price alone. If all of them are, the price may be too low:
    /// it is raised a little, but never above `most_ns`.
    pub(super) fn doubt_if_low(&mut self, most_ns: u32) {
        if self.ns < most_ns {
            self.ns = (self.ns + self.ns / LOW_SHARE).min(most_ns);
        }
    }

    /// The price in nanoseconds; never 0.
    pub(super) fn ns(self) -> u64 {
        self.ns.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_comes_to_what_most_samples_are_and_rare_long_ones_move_it_little() {
        for (before_ns, each_ns) in [(5_000, 1_300), (5_000, 22_000), (10_000, 10_000)] {
            let mut price = Price::median(before_ns);
            for sample in 0..100 {
                let is_stretched = sample % 10 == 9;
                price.note(if is_stretched { 4_000_000 } else { each_ns });
            }
            let part = price.ns() as f64 / each_ns as f64;
            assert!((0.9..1.1).contains(&part), "{each_ns}: {part}");
        }
    }

    #[test]
    fn the_first_samples_bring_a_guess_near_the_price() {
        for (guessed_ns, each_ns) in [(4_000, 1_000), (4_000, 12_000), (4_000, 4_100)] {
            let mut price = Price::median(guessed_ns);
            for _ in 0..KNOWN {
                assert!(!price.is_known());
                price.note(each_ns);
            }
            assert!(price.is_known());
            assert_eq!(price.ns(), each_ns);
        }
        // Known, one sample that the scheduler has stretched moves it by a sixteenth.
        let mut price = Price::median(4_000);
        for took_ns in [1_000, 1_000, 1_000, 4_000_000] {
            price.note(took_ns);
        }
        assert_eq!(price.ns(), 1_062);
    }

    #[test]
    fn a_low_price_comes_to_what_one_sample_in_nine_is_below() {
        let mut price = Price::low(10_000);
        for sample in 0..2_000 {
            // Spread evenly over 4 to 13 µs, in a scrambled order.
            price.note(4_000 + 9_000 * (sample * 7_919 % 2_000) / 2_000);
        }
        assert!((4_000..6_000).contains(&price.ns()), "{}", price.ns());
    }

    #[test]
    fn a_price_that_nobody_measures_is_doubted_until_somebody_does() {
        let mut price = Price::median(8_000);
        for _ in 0..712 {
            price.doubt();
        }
        assert!((3_900..4_400).contains(&price.ns()), "{}", price.ns());
        for _ in 0..20_000 {
            price.doubt();
        }
        assert_eq!(
            price.ns(),
            1_023,
            "what is left has no whole part to take off"
        );
    }

    #[test]
    fn a_price_that_has_fallen_rises_to_its_bound_where_all_samples_are_longer() {
        let mut price = Price::median(500);
        for _ in 0..180 {
            price.doubt_if_low(4_000);
        }
        assert!((850..1_050).contains(&price.ns()), "{}", price.ns());
        for _ in 0..1_000 {
            price.doubt_if_low(4_000);
        }
        assert_eq!(price.ns(), 4_000);
        let mut dear = Price::median(5_000);
        dear.doubt_if_low(4_000);
        assert_eq!(dear.ns(), 5_000);
    }

    #[test]
    fn no_sample_takes_a_price_out_of_its_bounds() {
        let mut price = Price::median(5_000);
        for (took_ns, bound_ns) in [(0, LEAST_NS), (u64::MAX, MOST_NS), (0, LEAST_NS)] {
            for _ in 0..200 {
                price.note(took_ns);
            }
            assert_eq!(price.ns(), u64::from(bound_ns));
        }
    }
}
