//! The clock of a publisher on another host.

/// How much the clock of this host, the far one, is ahead of the publisher's, the near one:
/// `offset_ns + rate × (near − since_ns)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// A time of the near clock, from which `rate` counts.
    pub since_ns: u64,
    /// Far minus near at that time.
    pub offset_ns: i64,
    /// How much the far clock gains on the near one, as a share of the time.
    pub rate: f64,
}

impl Difference {
    /// A time of the far clock, converted to the near one; 0 for a time before that clock began.
    pub fn near_ns(&self, far_ns: u64) -> u64 {
        let since_ns = i128::from(self.since_ns);
        let passed_ns = i128::from(far_ns) - since_ns - i128::from(self.offset_ns);
        let near_ns = since_ns + (passed_ns as f64 / (1.0 + self.rate)).round() as i128;
        u64::try_from(near_ns).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_time_is_converted_by_offset_and_drift() {
        let difference = Difference {
            since_ns: 1_000,
            offset_ns: -400,
            rate: 0.25,
        };
        assert_eq!(difference.near_ns(600), 1_000);
        assert_eq!(difference.near_ns(600 + 1_250), 2_000);
        assert_eq!(difference.near_ns(600 - 125), 900);
    }

    #[test]
    fn a_time_before_the_near_clock_began_is_its_beginning() {
        let difference = Difference {
            since_ns: 0,
            offset_ns: i64::MAX,
            rate: 0.0,
        };
        assert_eq!(difference.near_ns(5), 0);
    }
}
