//! Slices: cases of one load take turns, and each one's own time stands still in between.

use thiserror::Error;

/// The slices cannot be.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SlicesError {
    /// No slice, or slices without a length.
    #[error("there is no slice, or slices take no time")]
    Empty,
    /// A slice begins before the one before it is over.
    #[error("slice {0} begins before the one before it is over")]
    Overlap(usize),
}

/// When the slices of a case begin, and how long each of them is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slices {
    /// When slices begin, in nanoseconds after the start; growing by a slice at least.
    begins_ns: Vec<u64>,
    slice_ns: u64,
}

impl Slices {
    /// # Errors
    /// [`SlicesError`], where slices are missing, empty or overlap.
    pub fn new(begins_ns: Vec<u64>, slice_ns: u64) -> Result<Self, SlicesError> {
        if begins_ns.is_empty() || slice_ns == 0 {
            return Err(SlicesError::Empty);
        }
        let overlaps = |pair: &[u64]| pair[1] < pair[0].saturating_add(slice_ns);
        if let Some(at) = begins_ns.windows(2).position(overlaps) {
            return Err(SlicesError::Overlap(at + 1));
        }
        Ok(Self {
            begins_ns,
            slice_ns,
        })
    }

    /// How many slices there are.
    pub fn count(&self) -> usize {
        self.begins_ns.len()
    }

    /// When a moment of the case's own time comes, in nanoseconds after the start. A slice's end belongs to
    /// the slice, and moments after the last slice belong to that.
    pub fn at_ns(&self, own_ns: u64) -> u64 {
        let slice = own_ns.saturating_sub(1) / self.slice_ns;
        let slice = slice.min(self.count() as u64 - 1);
        let into_ns = own_ns - slice * self.slice_ns;
        self.begins_ns[slice as usize] + into_ns.min(self.slice_ns)
    }

    /// When a slice begins, in nanoseconds after the start.
    pub fn begin_ns(&self, slice: usize) -> u64 {
        self.begins_ns[slice]
    }

    /// When a slice is over, in nanoseconds after the start.
    pub fn end_ns(&self, slice: usize) -> u64 {
        self.begins_ns[slice] + self.slice_ns
    }

    /// How long it is, `at_ns` after the start, until a slice: 0 within a slice; `None` when none is left.
    pub fn wait_ns(&self, at_ns: u64) -> Option<u64> {
        let next = self
            .begins_ns
            .partition_point(|&begin_ns| begin_ns.saturating_add(self.slice_ns) <= at_ns);
        let begin_ns = self.begins_ns.get(next)?;
        Some(begin_ns.saturating_sub(at_ns))
    }

    /// The slice in which messages that are due `at_ns` after the start are measured; `None` before the
    /// first slice, and in the first `settling_ns` of each.
    pub fn measuring(&self, at_ns: u64, settling_ns: u64) -> Option<usize> {
        let slice = self
            .begins_ns
            .partition_point(|&begin_ns| begin_ns < at_ns)
            .checked_sub(1)?;
        (at_ns - self.begins_ns[slice] > settling_ns).then_some(slice)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Arrival, Schedule};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn own_time_stands_still_between_slices() {
        let slices = Slices::new(vec![100, 500, 1_000], 50).unwrap();
        let at = [0, 1, 50, 51, 100, 101, 150, 151, 9_999].map(|own_ns| slices.at_ns(own_ns));
        assert_eq!(at, [100, 101, 150, 501, 550, 1_001, 1_050, 1_050, 1_050]);
    }

    #[test]
    fn what_settles_is_measured_by_no_slice() {
        let slices = Slices::new(vec![100, 500], 50).unwrap();
        let measuring = [0, 100, 110, 111, 150, 510, 511].map(|at_ns| slices.measuring(at_ns, 10));
        assert_eq!(
            measuring,
            [None, None, None, Some(0), Some(0), None, Some(1)]
        );
    }

    #[test]
    fn who_is_flat_out_waits_for_the_next_slice() {
        let slices = Slices::new(vec![100, 500], 50).unwrap();
        let wait = |at_ns| slices.wait_ns(at_ns);
        assert_eq!([0, 100, 149].map(wait), [Some(100), Some(0), Some(0)]);
        assert_eq!([150, 499, 500].map(wait), [Some(350), Some(1), Some(0)]);
        assert_eq!([550, 9_999].map(wait), [None, None]);
    }

    #[test]
    fn slices_that_are_none_or_overlap_are_refused() {
        assert_eq!(Slices::new(vec![], 5), Err(SlicesError::Empty));
        assert_eq!(Slices::new(vec![0], 0), Err(SlicesError::Empty));
        assert_eq!(Slices::new(vec![0, 5, 9], 5), Err(SlicesError::Overlap(2)));
    }

    proptest! {
        #[test]
        fn every_message_is_due_in_a_slice_and_in_order(
            gaps in proptest::collection::vec(0u64..30_000_000, 1..40),
            slice_ns in 1_000_000u64..20_000_000, seed: u64
        ) {
            let begins_ns: Vec<u64> = gaps
                .iter()
                .scan(0, |at, gap| { *at += gap + slice_ns; Some(*at) })
                .collect();
            let own_ns = slice_ns * gaps.len() as u64;
            let slices = Slices::new(begins_ns.clone(), slice_ns).unwrap();
            let alone = Schedule::new(5_000.0, Arrival::Poisson, 1, own_ns, seed).unwrap();
            let sliced = alone.clone().in_slices(&slices);
            prop_assert_eq!(sliced.messages(), alone.messages());
            let due_ns: Vec<u64> = sliced.all_due_ns().collect();
            prop_assert!(due_ns.is_sorted());
            for at_ns in due_ns {
                prop_assert!(begins_ns.iter().any(|begin| (*begin..=begin + slice_ns).contains(&at_ns)));
            }
        }
    }
}
