//! The state of a connection under its lock: no system calls, no waiting.

use crate::coalescing::{
    failure::{Failure, SendError},
    served::NextVisit,
};
use tinygram_core::{Bytes, Coalescer, Knobs, Next, Reason};

/// A buffer larger than this, which a stalled peer caused, is given back when all of it is written. One that
/// grew by doubling until it had a full batch is smaller, and is kept for the next batch.
const KEPT_BYTES: usize = 2 * Knobs::THREADS_MAX_BYTES;

#[derive(Debug)]
pub(super) struct State {
    pub(super) coalescer: Coalescer,
    pub(super) duty: Duty,
    /// When the thread comes next while its duty is [`Duty::Timed`], CLOCK_MONOTONIC ns.
    pub(super) visit_ns: u64,
    pub(super) taken: Taken,
    /// How many bytes the kernel took.
    pub(super) written_bytes: u64,
    /// All bytes of the stream up to this number leave without being held.
    pub(super) flush_until: u64,
    /// How many threads wait for `changed`.
    pub(super) waiting: usize,
    /// How many threads wait until there is room for their message: nothing is held meanwhile.
    pub(super) waiting_for_room: usize,
    /// Whether the writing thread's list has this connection.
    pub(super) is_known: bool,
    pub(super) is_closed: bool,
    /// Whether this side has given up what is not delivered.
    pub(super) is_given_up: bool,
    pub(super) failure: Option<Failure>,
    /// Whether it was the writing thread that met the failure, and no caller has heard of it.
    pub(super) is_untold: bool,
}

/// The batch that is taken out to be written: `bytes` of it are left, from `at` on.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) buffer: Bytes,
    pub(super) at: usize,
    pub(super) bytes: usize,
    pub(super) reason: Option<Reason>,
    /// Whether the thread is handing `bytes` to the kernel, without the lock.
    pub(super) is_under_way: bool,
}

impl Taken {
    pub(super) fn under_way_bytes(&self) -> usize {
        if self.is_under_way { self.bytes } else { 0 }
    }
}

/// What the writing thread owes the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// Nothing is held.
    None,
    /// The thread will come as soon as it can, and write what no sender has written by then.
    Soon,
    /// The thread will come when a hold ends.
    Timed,
}

impl State {
    pub(super) fn new(coalescer: Coalescer) -> Self {
        Self {
            coalescer,
            duty: Duty::None,
            visit_ns: 0,
            taken: Taken::default(),
            written_bytes: 0,
            flush_until: 0,
            waiting: 0,
            waiting_for_room: 0,
            is_known: false,
            is_closed: false,
            is_given_up: false,
            failure: None,
            is_untold: false,
        }
    }

    /// The failure, for a caller that returns it: it counts as told from now on.
    pub(super) fn tell_failure(&mut self) -> Option<Failure> {
        self.is_untold = false;
        self.failure.clone()
    }

    pub(super) fn check(&mut self) -> Result<(), SendError> {
        match self.tell_failure() {
            Some(failure) => Err(failure.into()),
            None if self.is_closed => Err(SendError::Closed),
            None => Ok(()),
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.coalescer.pending().len() + self.taken.bytes
    }

    pub(super) fn handed_over_bytes(&self) -> u64 {
        self.written_bytes + self.held_bytes() as u64
    }

    pub(super) fn is_flushing(&self) -> bool {
        self.written_bytes < self.flush_until || self.waiting_for_room > 0
    }

    /// Whether the writing thread must be told to come, or to come sooner.
    pub(super) fn must_hurry(&self) -> bool {
        match self.duty {
            Duty::None => self.held_bytes() > 0,
            Duty::Timed => {
                self.taken.bytes > 0
                    || self.coalescer.is_full()
                    || self.is_flushing()
                    || self.coalescer.is_too_late(self.visit_ns)
            }
            Duty::Soon => false,
        }
    }

    /// Whether a full batch is held, and the writing thread is not writing another: then a sender
    /// may write it.
    pub(super) fn is_full_and_ours(&self) -> bool {
        self.taken.bytes == 0 && self.coalescer.is_full()
    }

    /// Let messages be held the short way as long as there is nothing else to do: the writing thread
    /// will come for them, or will once this sender has told it, and need not come any sooner.
    pub(super) fn open_room(&mut self, max_buffered_bytes: usize) {
        if self.failure.is_some() || self.is_closed {
            return;
        }
        let left_bytes = max_buffered_bytes.saturating_sub(self.held_bytes());
        let bytes = match self.duty {
            // The thread goes on with the messages that gather while it writes.
            Duty::Soon if self.taken.bytes > 0 => left_bytes,
            _ => left_bytes.min(self.coalescer.room_in_batch()),
        };
        self.coalescer.open_room(bytes);
    }

    /// The writing thread has come. Returns its reason to write what is held; `None`: not yet.
    pub(super) fn reason_to_write(&mut self, now_ns: u64) -> Option<Reason> {
        let next = self.coalescer.on_tick(now_ns, true);
        if self.coalescer.pending().is_empty() {
            None
        } else if self.is_flushing() {
            Some(Reason::Asked)
        } else if self.coalescer.is_full() {
            Some(Reason::Full)
        } else if let Next::Write(reason) = next {
            Some(reason)
        } else {
            None
        }
    }

    pub(super) fn take(&mut self, reason: Reason, now_ns: u64) {
        let spare = std::mem::take(&mut self.taken.buffer);
        let buffer = self.coalescer.take(spare, now_ns);
        self.taken = Taken {
            bytes: buffer.len(),
            buffer,
            at: 0,
            reason: Some(reason),
            is_under_way: false,
        };
    }

    /// The writing thread has written all that it took.
    pub(super) fn after_write(&mut self) -> NextVisit {
        if self.held_bytes() == 0 {
            self.rest()
        } else {
            NextVisit::Again
        }
    }

    pub(super) fn put_back(&mut self, mut buffer: Bytes, written: usize, end_ns: u64) {
        let reason = self.taken.reason.unwrap_or(Reason::Asked);
        // Bytes that were discarded meanwhile are gone from `taken.bytes`.
        self.taken.bytes = self.taken.bytes.saturating_sub(written);
        self.taken.at += written;
        self.written_bytes += written as u64;
        let is_done = self.taken.bytes == 0;
        self.coalescer
            .on_taken_written(written, reason, end_ns, is_done);
        if is_done {
            buffer.clear();
            if buffer.capacity() > KEPT_BYTES {
                buffer = Bytes::default();
            }
        }
        self.taken.buffer = buffer;
    }

    /// The writing thread has nothing to write now. Returns when it comes next.
    pub(super) fn rest(&mut self) -> NextVisit {
        self.coalescer.on_writable();
        let at_ns = match self.failure {
            Some(_) => None,
            None => self.coalescer.deadline_ns(),
        };
        self.duty = at_ns.map_or(Duty::None, |_| Duty::Timed);
        self.visit_ns = at_ns.unwrap_or(0);
        at_ns.map_or(NextVisit::Rest, NextVisit::At)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::{io, time::Duration};
    use tinygram_core::Strategy;

    const NOW_NS: u64 = 1_000_000_000;

    #[test]
    fn the_writing_thread_goes_on_with_what_gathered_while_it_wrote() {
        for held in [0, 10] {
            let mut state =
                State::new(Coalescer::of_threads(Knobs::of_threads(Strategy::Adaptive)).unwrap());
            state.coalescer.hold(b"abcd", || NOW_NS);
            state.take(Reason::Tick, NOW_NS);
            let taken = std::mem::take(&mut state.taken.buffer);
            for _ in 0..held {
                state.coalescer.hold(b"e", || NOW_NS);
            }
            state.put_back(taken, 4, NOW_NS);
            let next = state.after_write();
            assert_eq!(matches!(next, NextVisit::Again), held > 0, "{held}");
            assert_eq!(matches!(next, NextVisit::Rest), held == 0, "{held}");
        }
    }

    /// The memory of the buffer for what comes next, after a batch of so many messages was written.
    fn kept_bytes(state: &mut State, messages: usize) -> usize {
        for _ in 0..messages {
            state.coalescer.hold(&[0; 100], || NOW_NS);
        }
        state.take(Reason::Full, NOW_NS);
        let taken = std::mem::take(&mut state.taken.buffer);
        let written = taken.len();
        state.put_back(taken, written, NOW_NS);
        state.taken.buffer.capacity()
    }

    #[test]
    fn the_memory_of_a_full_batch_is_kept_and_what_a_stalled_peer_took_is_given_back() {
        let knobs = Knobs::of_threads(Strategy::Adaptive);
        let full = knobs.max_bytes / 100 + 1;
        let mut state = State::new(Coalescer::of_threads(knobs).unwrap());
        assert!(kept_bytes(&mut state, full) >= 100 * full);
        assert!(kept_bytes(&mut state, 10 * full) <= KEPT_BYTES);
    }

    #[test]
    fn what_would_fill_a_batch_takes_the_long_way_unless_the_thread_is_writing() {
        let mut knobs = Knobs::of_threads(Strategy::Combine);
        knobs.max_bytes = 8;
        let mut state = State::new(Coalescer::of_threads(knobs).unwrap());
        state.open_room(usize::MAX);
        assert!(!state.coalescer.hold_expected(b"a"), "nothing is held");
        state.coalescer.hold(b"abc", || NOW_NS);
        assert!(!state.coalescer.hold_expected(b"d"), "nobody has opened it");
        state.open_room(usize::MAX);
        assert!(!state.coalescer.hold_expected(b"defgh"));
        assert!(state.coalescer.hold_expected(b"defg"));
        assert!(!state.coalescer.hold_expected(b"h"));
        state.duty = Duty::Soon;
        // There is memory for what comes meanwhile.
        state.taken.buffer.push(&[0; 100]);
        state.taken.buffer.clear();
        state.take(Reason::Tick, NOW_NS);
        state.open_room(20);
        assert!(!state.coalescer.hold_expected(b"h"), "the first of a batch");
        state.coalescer.hold(b"h", || NOW_NS);
        state.open_room(20);
        assert!(state.coalescer.hold_expected(b"twelve bytes"));
        assert!(!state.coalescer.hold_expected(b"i"), "20 are held");
        assert!(!state.coalescer.hold_expected(b""));
    }

    #[test]
    fn a_sender_looks_at_the_clock_where_the_policy_says_so() {
        let mut knobs = Knobs::of_threads(Strategy::Adaptive);
        knobs.max_hold = Some(Duration::from_nanos(1));
        let mut state = State::new(Coalescer::of_threads(knobs).unwrap());
        state.coalescer.hold(b"a", || NOW_NS);
        state.open_room(usize::MAX);
        assert!(!state.coalescer.is_to_look());
        assert!(!state.coalescer.hold_expected(b"b"), "its sender looks");
        state.coalescer.hold(b"b", || NOW_NS + 1);
        assert!(state.coalescer.is_to_look());
        assert!(state.coalescer.is_overdue(NOW_NS + 1));
    }

    #[test]
    fn the_writing_thread_is_told_of_a_deadline_that_moved_once_until_it_has_come() {
        let price = Duration::from_nanos(1_600);
        let knobs = Knobs::of_threads(Strategy::Competitive { price });
        let mut state = State::new(Coalescer::of_threads(knobs).unwrap());
        state.coalescer.hold(b"a", || NOW_NS);
        assert!(state.must_hurry(), "nobody has been told");
        assert!(matches!(state.rest(), NextVisit::At(at_ns) if at_ns == NOW_NS + 1_600));
        assert!(!state.must_hurry());
        state.coalescer.hold(b"b", || NOW_NS + 600);
        assert!(state.must_hurry(), "it is due after 1,100 ns");
        state.duty = Duty::Soon;
        state.coalescer.hold(b"c", || NOW_NS + 700);
        assert!(!state.must_hurry());
        let at = |at_ns| matches!(at_ns, NextVisit::At(at_ns) if at_ns == NOW_NS + 967);
        assert!(at(state.rest()));
        // It would be due at 959 ns, and to come at 967 costs 4 × 8 ns more: no sixteenth of the price.
        state.coalescer.hold(b"d", || NOW_NS + 935);
        assert!(!state.must_hurry());
        assert!(state.reason_to_write(NOW_NS + 958).is_none());
        let reason = state.reason_to_write(NOW_NS + 959);
        assert_eq!(reason, Some(Reason::Deadline));
    }

    #[test]
    fn a_sender_writes_what_is_due_where_the_thread_has_not_come() {
        let price = Duration::from_nanos(1_600);
        let knobs = Knobs::of_threads(Strategy::Competitive { price });
        let mut state = State::new(Coalescer::of_threads(knobs).unwrap());
        state.coalescer.hold(b"a", || NOW_NS);
        assert!(!state.coalescer.is_to_look());
        state.coalescer.hold(b"b", || NOW_NS + 1_600);
        assert!(state.coalescer.is_to_look());
        assert!(state.coalescer.is_overdue(NOW_NS + 1_600));
    }

    #[test]
    fn what_comes_while_somebody_waits_for_room_is_not_held() {
        let hold = Duration::from_secs(3_600);
        let knobs = Knobs::of_threads(Strategy::Coalesce { hold });
        let mut state = State::new(Coalescer::of_threads(knobs).unwrap());
        state.coalescer.hold(b"a", || NOW_NS);
        state.duty = Duty::Timed;
        assert!(!state.must_hurry());
        assert!(state.reason_to_write(NOW_NS).is_none());
        state.waiting_for_room = 1;
        assert!(state.must_hurry());
        assert_eq!(state.reason_to_write(NOW_NS), Some(Reason::Asked));
    }

    #[test]
    fn a_failed_connection_is_not_visited_and_holds_nothing_more() {
        let price = Duration::from_nanos(1_600);
        let knobs = Knobs::of_threads(Strategy::Competitive { price });
        let mut state = State::new(Coalescer::of_threads(knobs).unwrap());
        state.coalescer.hold(b"a", || NOW_NS);
        let error = io::Error::from_raw_os_error(libc::EPIPE);
        state.failure = Some(Failure {
            errno: error.raw_os_error().unwrap(),
            acknowledged_bytes: 0,
            unknown_bytes: 0,
            unsent_bytes: 0,
        });
        state.coalescer.discard();
        state.taken = Taken::default();
        assert!(state.reason_to_write(NOW_NS).is_none());
        assert!(matches!(state.rest(), NextVisit::Rest));
        assert_eq!(state.duty, Duty::None);
        state.duty = Duty::Timed;
        state.open_room(usize::MAX);
        assert!(!state.coalescer.hold_expected(b"b"));
    }
}
