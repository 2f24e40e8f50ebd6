//! Calls at a rate: when each is due, whose it is, and which of them nobody has begun.
//!
//! All times are of the case's own time, which stands still between its slices: a call that is due while its
//! caller waits for a reply is begun when that has come, in a later slice if need be, and counts from when
//! it was due.

use std::sync::Arc;

/// How long after its slice what has come due in it may still be begun: some wake-ups are late, and the gap
/// behind a slice is longer.
pub const LATE_NS: u64 = 300_000;

/// When calls are due, in nanoseconds of the case's own time and in order; call i is that of caller i
/// modulo their number.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    due_ns: Arc<[u64]>,
    callers: usize,
}

impl Agenda {
    /// Calls of so many callers.
    ///
    /// # Panics
    /// Where calls are not in order, or there is no caller.
    pub fn new(due_ns: Vec<u64>, callers: usize) -> Self {
        assert!(due_ns.is_sorted(), "calls are due in order");
        assert!(callers > 0, "each call is that of a caller");
        Self {
            due_ns: due_ns.into(),
            callers,
        }
    }

    /// How many callers there are.
    pub fn callers(&self) -> usize {
        self.callers
    }

    /// When the calls of one caller are due.
    pub fn of(&self, caller: usize) -> impl Iterator<Item = u64> {
        self.due_ns
            .iter()
            .copied()
            .skip(caller)
            .step_by(self.callers)
    }
}

/// The calls of all callers of one thread: which have come due, and which were begun.
#[derive(Debug)]
pub struct Book {
    agenda: Agenda,
    /// Each caller's next call.
    next: Vec<usize>,
    /// How many calls have come due.
    released: usize,
}

impl Book {
    /// Nothing has come due.
    pub fn new(agenda: Agenda) -> Self {
        Self {
            next: (0..agenda.callers).collect(),
            agenda,
            released: 0,
        }
    }

    /// When the next call comes due; `None`: all have.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.agenda.due_ns.get(self.released).copied()
    }

    /// The next caller whose call has come due; `None`: at `own_ns` no other has.
    pub fn release(&mut self, own_ns: u64) -> Option<usize> {
        self.next_due_ns().filter(|&due_ns| due_ns <= own_ns)?;
        self.released += 1;
        Some((self.released - 1) % self.agenda.callers)
    }

    /// Whether a caller's next call has come due.
    pub fn has_due(&self, caller: usize) -> bool {
        self.next[caller] < self.released
    }

    /// Let a caller begin its next call, if that is due: when it came due.
    pub fn take(&mut self, caller: usize) -> Option<u64> {
        if !self.has_due(caller) {
            return None;
        }
        let call = self.next[caller];
        self.next[caller] += self.agenda.callers;
        Some(self.agenda.due_ns[call])
    }

    /// When the calls were due that nobody has begun.
    pub fn not_begun(&self) -> impl Iterator<Item = u64> {
        (0..self.agenda.callers).flat_map(|caller| self.not_begun_by(caller))
    }

    /// The same for one caller.
    pub fn not_begun_by(&self, caller: usize) -> impl Iterator<Item = u64> {
        let due_ns = self.agenda.due_ns.iter().copied();
        due_ns.skip(self.next[caller]).step_by(self.agenda.callers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_caller_that_is_late_begins_its_calls_one_after_the_other() {
        let mut book = Book::new(Agenda::new(vec![10, 20, 30, 40, 90], 2));
        assert_eq!((book.release(9), book.take(0)), (None, None));
        assert_eq!(book.release(45), Some(0));
        assert_eq!(book.take(0), Some(10));
        // Its next call is not released yet.
        assert_eq!(book.take(0), None);
        let released = std::iter::from_fn(|| book.release(45));
        assert_eq!(released.collect::<Vec<_>>(), [1, 0, 1]);
        let taken = [book.take(0), book.take(1), book.take(0), book.take(1)];
        assert_eq!(taken, [Some(30), Some(20), None, Some(40)]);
        assert_eq!(book.next_due_ns(), Some(90));
        assert_eq!(book.not_begun().collect::<Vec<_>>(), [90]);
    }

    proptest! {
        #[test]
        fn each_call_is_begun_once_by_its_caller_or_is_told_as_not_begun(
            gaps in proptest::collection::vec(0u64..50, 0..200),
            callers in 1usize..9, steps in proptest::collection::vec((0u64..100, 0usize..9), 0..100)
        ) {
            let due_ns: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
            let agenda = Agenda::new(due_ns.clone(), callers);
            let mut book = Book::new(agenda.clone());
            let (mut now_ns, mut begun) = (0, vec![Vec::new(); callers]);
            for (step_ns, caller) in steps {
                now_ns += step_ns;
                while book.release(now_ns).is_some() {}
                if let Some(due_ns) = book.take(caller % callers) {
                    prop_assert!(due_ns <= now_ns);
                    begun[caller % callers].push(due_ns);
                }
            }
            let mut seen: Vec<u64> = begun.iter().flatten().copied().chain(book.not_begun()).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, due_ns);
            for (caller, begun) in begun.iter().enumerate() {
                prop_assert!(agenda.of(caller).take(begun.len()).eq(begun.iter().copied()));
            }
        }
    }
}
