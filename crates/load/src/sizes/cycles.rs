//! Cycles: one sample of each case, in a new random order every time; and the values kept of them.

use crate::generator::Generator;

/// The most values that are kept: if there are more cycles, several in a row share one.
pub const MOST_VALUES: u64 = 1_000;

/// The order of the cases in each cycle: the same for the same seed.
#[derive(Debug)]
pub(super) struct Order {
    cases: Vec<usize>,
    generator: Generator,
}

impl Order {
    pub fn new(cases: usize, seed: u64) -> Self {
        Self {
            cases: (0..cases).collect(),
            generator: Generator::new(seed),
        }
    }

    /// Each case once, all orders being equally likely (Fisher and Yates; Durstenfeld, 1964).
    pub fn of_next_cycle(&mut self) -> &[usize] {
        for last in (1..self.cases.len()).rev() {
            let other = self.generator.between(0, last as u64) as usize;
            self.cases.swap(last, other);
        }
        &self.cases
    }
}

/// Values in the order of their cycles: each value, or the medians of blocks of equal length, the last
/// of which may be shorter. Room for all is made at the beginning.
#[derive(Debug)]
pub(super) struct Blocks {
    length: usize,
    open: Vec<u64>,
    medians: Vec<u64>,
}

impl Blocks {
    pub fn new(cycles: u64) -> Self {
        let length = cycles.div_ceil(MOST_VALUES).max(1);
        Self {
            length: length as usize,
            open: Vec::with_capacity(length as usize),
            medians: Vec::with_capacity(cycles.div_ceil(length) as usize),
        }
    }

    pub fn push(&mut self, value: u64) {
        self.open.push(value);
        if self.open.len() == self.length {
            self.end_block();
        }
    }

    pub fn into_values(mut self) -> Vec<u64> {
        self.end_block();
        self.medians
    }

    fn end_block(&mut self) {
        let count = self.open.len();
        if count > 0 {
            self.open.sort_unstable();
            let middle = self.open[(count - 1) / 2] + self.open[count / 2];
            self.medians.push(middle / 2);
            self.open.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn orders(cases: usize, seed: u64, cycles: usize) -> Vec<Vec<usize>> {
        let mut order = Order::new(cases, seed);
        (0..cycles)
            .map(|_| order.of_next_cycle().to_vec())
            .collect()
    }

    #[test]
    fn each_case_is_in_every_cycle_once() {
        for mut order in orders(7, 1, 100) {
            order.sort_unstable();
            assert_eq!(order, (0..7).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_order_comes_and_no_case_comes_first_more_often() {
        let found = orders(3, 1, 6_000);
        assert_eq!(found.iter().collect::<HashSet<_>>().len(), 6);
        for case in 0..3 {
            let first = found.iter().filter(|order| order[0] == case).count();
            assert!((1_800..2_200).contains(&first), "{case}: {first}");
        }
    }

    #[test]
    fn the_order_is_that_of_the_seed() {
        assert_eq!(orders(5, 7, 20), orders(5, 7, 20));
        assert_ne!(orders(5, 7, 20), orders(5, 8, 20));
    }

    fn kept(values: &[u64]) -> Vec<u64> {
        let mut blocks = Blocks::new(values.len() as u64);
        let room = (blocks.open.capacity(), blocks.medians.capacity());
        values.iter().for_each(|&value| blocks.push(value));
        assert_eq!((blocks.open.capacity(), blocks.medians.capacity()), room);
        blocks.into_values()
    }

    #[test]
    fn up_to_a_thousand_cycles_keep_each_value() {
        assert!(kept(&[]).is_empty());
        assert_eq!(kept(&[5, 3, 9]), [5, 3, 9]);
        assert_eq!(kept(&[4; 1_000]).len(), 1_000);
    }

    #[test]
    fn more_cycles_keep_the_medians_of_blocks_and_no_value_is_left_out() {
        // Blocks of two; the last has one.
        let mut found = kept(&[&[10; 1_000][..], &[30]].concat());
        assert_eq!((found.len(), found.pop()), (501, Some(30)));
        assert_eq!(found, [10; 500]);
        // Blocks of three: one far off in each moves none.
        assert_eq!(kept(&[7, 1_000_000, 8].repeat(1_000)), [8; 1_000]);
    }
}
