mod encoding;

use std::collections::BTreeMap;

use thiserror::Error;

/// One hour in nanoseconds: larger values count as this one.
const MAX_NS: u64 = 3_600_000_000_000;

/// The bytes are not a histogram.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("not an HDR histogram in V2 form: {0}")]
pub struct HistogramError(&'static str);

/// A histogram cannot be subtracted from one that lacks some of its values.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("some of the values to subtract are not in this histogram")]
pub struct MissingValues;

/// An HDR histogram of nanoseconds (<http://hdrhistogram.org>), with 3 significant digits unless
/// it is a small one.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    inner: hdrhistogram::Histogram<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        let inner = hdrhistogram::Histogram::new_with_bounds(1, MAX_NS, 3);
        Self {
            inner: inner.expect("the bounds are valid"),
        }
    }

    /// An empty histogram of 4 kB: 1 significant digit, values up to ten seconds.
    pub fn small() -> Self {
        let inner = hdrhistogram::Histogram::new_with_bounds(1, 10_000_000_000, 1);
        Self {
            inner: inner.expect("the bounds are valid"),
        }
    }

    /// Add one value in nanoseconds; values above one hour count as one hour.
    pub fn record(&mut self, value_ns: u64) {
        self.inner.saturating_record(value_ns);
    }

    /// Add the same value `count` times.
    pub fn record_many(&mut self, value_ns: u64, count: u64) {
        self.inner.saturating_record_n(value_ns, count);
    }

    /// Add all values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for step in other.inner.iter_recorded() {
            self.inner
                .saturating_record_n(step.value_iterated_to(), step.count_at_value());
        }
    }

    /// Subtract all values of another histogram.
    ///
    /// # Errors
    /// [`MissingValues`], when some are not here; which ones were subtracted is then unspecified.
    pub fn subtract(&mut self, other: &Histogram) -> Result<(), MissingValues> {
        self.inner.subtract(&other.inner).map_err(|_| MissingValues)
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// The smallest value, in nanoseconds; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        if self.inner.is_empty() {
            0
        } else {
            self.inner.min()
        }
    }

    /// The largest value, in nanoseconds; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.inner.max()
    }

    /// The mean, in nanoseconds; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        self.inner.mean()
    }

    /// The value in nanoseconds that `percentile` percent (0 … 100) of all values do not exceed; 0 when
    /// empty.
    pub fn percentile_ns(&self, percentile: f64) -> u64 {
        if self.inner.is_empty() {
            0
        } else {
            self.inner.value_at_percentile(percentile)
        }
    }

    /// A histogram with the same count, extremes and mean, and as many values at each of `kept_ns` and
    /// below it. In between it has less detail, and takes less room when it is stored.
    ///
    /// Neighbouring counts move to their mean. If the mean lies between two values, those two share
    /// the counts, so that the sum stays the same.
    pub fn thinned(&self, kept_ns: &[u64]) -> Self {
        let all = &self.inner;
        let extremes = [self.min_ns(), self.max_ns()];
        let kept = kept_ns.iter().chain(&extremes);
        let mut kept: Vec<u64> = kept.map(|&each| all.lowest_equivalent(each)).collect();
        kept.sort_unstable();
        // Neighbours are counts between the same kept values, in buckets of the same width.
        let mut groups = BTreeMap::<(usize, usize, u64), (u64, u64)>::new();
        for step in all.iter_recorded() {
            let low = all.lowest_equivalent(step.value_iterated_to());
            let width = all.equivalent_range(low);
            let below = kept.partition_point(|&each| each < low);
            let up_to = kept.partition_point(|&each| each <= low);
            let (count, places) = groups.entry((below, up_to, width)).or_default();
            *count += step.count_at_value();
            *places += step.count_at_value() * (low / width);
        }
        let mut inner = hdrhistogram::Histogram::new_from(all);
        for ((_, _, width), (count, places)) in groups {
            let (place, next) = (places / count, places % count);
            inner.saturating_record_n(place * width, count - next);
            // None of a value would still raise the maximum.
            if next > 0 {
                inner.saturating_record_n((place + 1) * width, next);
            }
        }
        Self { inner }
    }

    /// The standard V2 form, not compressed.
    pub fn to_bytes(&self) -> Vec<u8> {
        encoding::encoded(&self.inner)
    }

    /// Read the standard V2 form, not compressed.
    ///
    /// # Errors
    /// [`HistogramError`], when the bytes are no such form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HistogramError> {
        let inner = encoding::decoded(bytes)?;
        Ok(Self { inner })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_is_all_zero() {
        let empty = Histogram::new();
        assert_eq!((empty.count(), empty.min_ns(), empty.max_ns()), (0, 0, 0));
        assert_eq!((empty.percentile_ns(99.0), empty.mean_ns()), (0, 0.0));
    }

    #[test]
    fn values_above_an_hour_are_kept_as_an_hour() {
        let mut histogram = Histogram::new();
        histogram.record(u64::MAX);
        assert_eq!(histogram.count(), 1);
        assert!(histogram.max_ns() >= MAX_NS);
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        for bytes in [&[][..], &[1], &[0; 40]] {
            assert!(Histogram::from_bytes(bytes).is_err());
        }
    }

    #[test]
    fn values_that_are_not_there_cannot_be_taken_away() {
        let (mut few, mut many) = (Histogram::new(), Histogram::new());
        few.record(10_000);
        many.record(10_000);
        many.record(10_000);
        assert!(few.subtract(&many).is_err());
    }

    proptest! {
        #[test]
        fn what_is_left_when_the_first_values_are_taken_away_are_the_others(first in proptest::collection::vec(1u64..10_000_000, 0..50), others in proptest::collection::vec(1u64..10_000_000, 0..50)) {
            let fill = |values: &[u64]| { let mut h = Histogram::small(); values.iter().for_each(|&v| h.record(v)); h };
            let mut left = fill(&[first.clone(), others.clone()].concat());
            left.subtract(&fill(&first)).unwrap();
            prop_assert_eq!(left.to_bytes(), fill(&others).to_bytes());
            prop_assert_eq!((left.min_ns(), left.max_ns()), (fill(&others).min_ns(), fill(&others).max_ns()));
        }

        #[test]
        fn percentiles_are_within_a_thousandth_and_survive_storage(
            mut values in proptest::collection::vec(0u64..10_000_000_000, 1..200), percent in 0.0f64..100.0
        ) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&value| histogram.record(value));
            values.sort_unstable();
            let rank = ((percent / 100.0 * values.len() as f64).ceil() as usize).max(1);
            let exact = values[rank - 1];
            let found = histogram.percentile_ns(percent);
            prop_assert!(found.abs_diff(exact) <= exact / 1000 + 1, "{found} for {exact}");
            let back = Histogram::from_bytes(&histogram.to_bytes()).unwrap();
            prop_assert_eq!(back.percentile_ns(percent), found);
            prop_assert_eq!(back.count(), histogram.count());
        }

        #[test]
        fn a_thinned_one_has_the_same_count_extremes_mean_and_kept_percentiles(
            values in proptest::collection::vec(0u64..10_000_000_000, 0..200),
            others in proptest::collection::vec(0u64..10_000_000, 0..200),
            percents in proptest::collection::vec(0.0f64..100.0, 0..4),
        ) {
            let fill = |values: &[u64]| { let mut h = Histogram::new(); values.iter().for_each(|&v| h.record(v)); h };
            let (one, other) = (fill(&values), fill(&others));
            let mut both = one.clone();
            both.merge(&other);
            let kept: Vec<u64> = percents.iter().flat_map(|&percent| [one.percentile_ns(percent), both.percentile_ns(percent)]).collect();
            let thin = one.thinned(&kept);
            prop_assert_eq!((thin.count(), thin.min_ns(), thin.max_ns()), (one.count(), one.min_ns(), one.max_ns()));
            prop_assert!((thin.mean_ns() - one.mean_ns()).abs() <= one.mean_ns() * 1e-12);
            let mut both_thin = thin.clone();
            both_thin.merge(&other.thinned(&kept));
            for percent in percents {
                prop_assert_eq!(thin.percentile_ns(percent), one.percentile_ns(percent));
                prop_assert_eq!(both_thin.percentile_ns(percent), both.percentile_ns(percent));
            }
            prop_assert_eq!(thin.thinned(&kept), thin.clone());
        }

        #[test]
        fn merging_counts_every_value(left in proptest::collection::vec(0u64..1_000_000, 0..50), right in proptest::collection::vec(0u64..1_000_000, 0..50)) {
            let fill = |values: &[u64]| { let mut h = Histogram::new(); values.iter().for_each(|&v| h.record(v)); h };
            let mut merged = fill(&left);
            merged.merge(&fill(&right));
            let all = fill(&[left, right].concat());
            prop_assert_eq!(merged.count(), all.count());
            for percent in [1.0, 50.0, 99.0] {
                prop_assert_eq!(merged.percentile_ns(percent), all.percentile_ns(percent));
            }
        }
    }
}
