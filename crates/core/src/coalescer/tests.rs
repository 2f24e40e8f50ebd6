use super::*;
use proptest::{
    prelude::{Just, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest},
    strategy::Strategy as _,
};

const COALESCE_10_US: Strategy = Strategy::Coalesce { hold_ns: 10_000 };

fn coalescer(strategy: Strategy) -> Coalescer {
    Coalescer::new(Knobs::new(strategy)).unwrap()
}

/// A socket that takes what it is told to take, one entry of `takes` per write; then everything.
#[derive(Default)]
struct Socket {
    takes: std::collections::VecDeque<Option<usize>>,
    received: Vec<u8>,
}

/// The caller's side of the contract, with a clock that only the test moves.
struct Driver {
    coalescer: Coalescer,
    socket: Socket,
    now_ns: u64,
}

impl Driver {
    fn new(knobs: Knobs, takes: Vec<Option<usize>>) -> Self {
        Self {
            coalescer: Coalescer::new(knobs).unwrap(),
            socket: Socket {
                takes: takes.into(),
                received: Vec::new(),
            },
            now_ns: 1_000_000_000,
        }
    }

    /// Whether the message was taken.
    fn send(&mut self, message: &[u8]) -> bool {
        let now_ns = self.now_ns;
        match self.coalescer.on_message(message, || now_ns) {
            Next::Wait | Next::Arm => true,
            Next::Write(reason) => {
                self.write(message, reason);
                true
            }
            Next::WriteFirst => {
                self.write(&[], Reason::Full);
                self.send(message)
            }
            Next::Refuse => false,
        }
    }

    fn tick(&mut self, will_block: bool) {
        if let Next::Write(reason) = self.coalescer.on_tick(self.now_ns, will_block) {
            self.write(&[], reason);
        }
    }

    fn writable(&mut self) {
        if self.coalescer.is_blocked() && self.coalescer.on_writable() {
            self.write(&[], Reason::Writable);
        }
    }

    fn write(&mut self, mut message: &[u8], reason: Reason) {
        loop {
            let all = [self.coalescer.pending(), message].concat();
            if all.is_empty() {
                return;
            }
            let taken = match self.socket.takes.pop_front() {
                Some(None) => 0,
                Some(Some(bytes)) => bytes.min(all.len()),
                None => all.len(),
            };
            self.socket.received.extend_from_slice(&all[..taken]);
            self.coalescer
                .on_written(taken, message, reason, self.now_ns, self.now_ns);
            message = &[];
            if taken == 0 {
                return self.coalescer.on_blocked();
            }
        }
    }
}

fn strategies() -> impl proptest::strategy::Strategy<Value = super::Strategy> {
    prop_oneof![
        Just(Strategy::NoDelay),
        Just(Strategy::Nagle),
        Just(Strategy::Tick),
        (1u64..200_000).prop_map(|hold_ns| Strategy::Coalesce { hold_ns }),
        Just(Strategy::Adaptive),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Send(usize),
    Tick(bool),
    Writable,
    Pass(u64),
}

fn steps() -> impl proptest::strategy::Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0usize..300).prop_map(Step::Send),
        1 => (0usize..3000).prop_map(Step::Send),
        2 => any::<bool>().prop_map(Step::Tick),
        2 => Just(Step::Writable),
        3 => (0u64..60_000).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #[test]
    fn what_leaves_is_the_concatenation_of_what_came(
        strategy in strategies(),
        max_bytes in 1usize..2000,
        max_buffered_bytes in prop::option::of(1usize..4000),
        takes in prop::collection::vec(prop::option::of(0usize..500), 0..300),
        steps in steps(),
    ) {
        let knobs = Knobs { strategy, max_bytes, max_hold_ns: None, max_buffered_bytes };
        let mut driver = Driver::new(knobs, takes);
        let mut sent = Vec::new();
        let mut messages = 0;
        for step in steps {
            match step {
                Step::Send(bytes) => {
                    let message: Vec<u8> =
                        (0..bytes).map(|at| (sent.len() + 7 * at) as u8).collect();
                    if driver.send(&message) {
                        sent.extend_from_slice(&message);
                        messages += 1;
                    }
                    let bound = max_buffered_bytes.unwrap_or(usize::MAX);
                    prop_assert!(driver.coalescer.pending().len() <= bound);
                }
                Step::Tick(will_block) => driver.tick(will_block),
                Step::Writable => driver.writable(),
                Step::Pass(ns) => driver.now_ns += ns,
            }
            let received = &driver.socket.received;
            prop_assert_eq!(&[received, driver.coalescer.pending()].concat(), &sent);
        }
        driver.socket.takes.clear();
        driver.writable();
        driver.write(&[], Reason::Asked);
        prop_assert_eq!(&driver.socket.received, &sent);
        let stats = driver.coalescer.stats();
        prop_assert_eq!(stats.messages, messages);
        prop_assert_eq!(stats.bytes, sent.len() as u64);
        prop_assert_eq!(stats.writes, stats.flushes.iter().sum::<u64>());
    }

    #[test]
    fn nothing_is_held_beyond_its_limit_when_polled_at_the_deadline(
        strategy in strategies(),
        max_hold_ns in prop::option::of(1u64..150_000),
        gaps_ns in prop::collection::vec((0u64..50_000, 1usize..400), 1..200),
    ) {
        let knobs = Knobs { max_hold_ns, ..Knobs::new(strategy) };
        let limit_ns = knobs.hold_ns().unwrap_or(0);
        let mut driver = Driver::new(knobs, Vec::new());
        for (gap_ns, bytes) in gaps_ns {
            let next_ns = driver.now_ns + gap_ns;
            while let Some(deadline_ns) = driver.coalescer.deadline_ns() {
                if deadline_ns > next_ns {
                    break;
                }
                driver.now_ns = driver.now_ns.max(deadline_ns);
                driver.tick(false);
            }
            driver.now_ns = next_ns;
            driver.send(&vec![1; bytes]);
        }
        let stats = driver.coalescer.stats();
        prop_assert_eq!(stats.overruns, 0);
        // The histogram keeps one digit.
        prop_assert!(stats.holds().max_ns() <= limit_ns + limit_ns / 16);
    }
}

#[test]
fn a_message_leaves_at_once_where_nothing_is_held_back() {
    for strategy in [Strategy::NoDelay, Strategy::Nagle] {
        let mut it = coalescer(strategy);
        assert_eq!(it.on_message(b"a", || 5), Next::Write(Reason::EachMessage));
    }
}

#[test]
fn adaptive_writes_the_first_message_through_and_gathers_what_follows() {
    let mut driver = Driver::new(Knobs::new(Strategy::Adaptive), Vec::new());
    for message in [b"a", b"b", b"c"] {
        driver.send(message);
    }
    assert_eq!(driver.socket.received, b"a");
    driver.tick(true);
    assert_eq!(driver.socket.received, b"abc");
    let stats = driver.coalescer.stats();
    assert_eq!((stats.messages, stats.writes), (3, 2));
    assert_eq!(stats.flushes[Reason::Idle as usize], 1);
    assert_eq!(stats.flushes[Reason::Tick as usize], 1);
}

#[test]
fn adaptive_expects_what_came_last_a_burst_or_a_single_message() {
    let mut driver = Driver::new(Knobs::new(Strategy::Adaptive), Vec::new());
    let mut writes = Vec::new();
    for burst in [1, 1, 2, 2, 16, 16, 1, 1] {
        let before = driver.coalescer.stats().writes;
        for _ in 0..burst {
            driver.send(b"a");
        }
        driver.tick(true);
        driver.now_ns += 1_000_000;
        writes.push(driver.coalescer.stats().writes - before);
    }
    assert_eq!(writes, [1, 1, 2, 1, 1, 1, 1, 1]);
    let flushes = driver.coalescer.stats().flushes;
    // The first single message after the bursts was held to the end of its iteration.
    assert_eq!(flushes[Reason::Idle as usize], 4);
}

#[test]
fn adaptive_holds_on_while_more_keeps_coming_and_no_longer() {
    let mut driver = Driver::new(Knobs::new(Strategy::Adaptive), Vec::new());
    for _ in 0..200 {
        driver.send(&[0; 100]);
        driver.now_ns += 1_000;
        driver.tick(false);
    }
    let busy = driver.coalescer.stats().clone();
    assert!(busy.writes < 40, "{busy:?}");
    assert!(busy.flushes[Reason::Deadline as usize] == 0, "{busy:?}");
    assert_eq!(busy.overruns, 0);
    // The next iteration brings nothing.
    driver.send(b"z");
    driver.now_ns += 1_000;
    driver.tick(false);
    driver.now_ns += 1_000;
    driver.tick(false);
    assert!(driver.coalescer.pending().is_empty());
}

#[test]
fn adaptive_never_holds_across_an_iteration_that_would_last_beyond_its_limit() {
    let mut driver = Driver::new(Knobs::new(Strategy::Adaptive), Vec::new());
    for _ in 0..50 {
        driver.send(&[0; 100]);
        driver.now_ns += 60_000;
        driver.tick(false);
        assert!(driver.coalescer.pending().is_empty());
    }
    assert_eq!(driver.coalescer.stats().overruns, 0);
}

#[test]
fn a_hold_ends_when_its_time_does_though_nothing_follows() {
    let mut it = coalescer(COALESCE_10_US);
    assert_eq!(it.on_message(b"a", || 1_000), Next::Arm);
    assert_eq!(it.on_message(b"b", || 2_000), Next::Wait);
    assert_eq!(it.deadline_ns(), Some(11_000));
    assert_eq!(it.on_tick(10_999, true), Next::Wait);
    assert_eq!(it.on_tick(11_000, true), Next::Write(Reason::Deadline));
}

#[test]
fn a_late_flush_is_counted_as_an_overrun() {
    let mut it = coalescer(COALESCE_10_US);
    it.on_message(b"a", || 1_000);
    it.on_tick(11_001, false);
    it.on_written(1, &[], Reason::Deadline, 11_001, 12_000);
    assert_eq!(it.stats().overruns, 1);
}

#[test]
fn a_full_batch_leaves_with_the_message_that_filled_it() {
    let mut it = coalescer(Strategy::Tick);
    assert_eq!(it.on_message(&[1; 40_000], || 0), Next::Arm);
    let next = it.on_message(&[2; 40_000], || 0);
    assert_eq!(next, Next::Write(Reason::Full));
    assert_eq!(it.pending().len(), 40_000);
}

#[test]
fn a_peer_that_takes_nothing_makes_us_hold_up_to_the_bound_and_refuse_the_rest() {
    let knobs = Knobs {
        max_buffered_bytes: Some(1_000),
        ..Knobs::new(Strategy::Adaptive)
    };
    let mut driver = Driver::new(knobs, vec![None]);
    for _ in 0..10 {
        assert!(driver.send(&[0; 100]));
    }
    assert!(!driver.send(&[0; 1]));
    assert_eq!(driver.coalescer.pending().len(), 1_000);
    assert_eq!(driver.coalescer.deadline_ns(), None);
    driver.writable();
    assert_eq!(driver.socket.received.len(), 1_000);
    assert!(driver.send(&[0; 1]));
    assert!(!driver.send(&[0; 1_001]));
}

#[test]
fn what_a_stalled_peer_made_us_gather_is_given_back() {
    let mut driver = Driver::new(Knobs::new(Strategy::Adaptive), vec![None]);
    for _ in 0..100 {
        driver.send(&[0; 100_000]);
    }
    assert_eq!(driver.coalescer.pending().len(), 10_000_000);
    driver.writable();
    assert!(driver.coalescer.buffer.capacity() <= 4 * Knobs::MAX_BYTES);
}

#[test]
fn what_is_discarded_is_gone_and_said() {
    let mut it = coalescer(Strategy::Tick);
    it.on_message(b"abc", || 0);
    assert_eq!(it.discard(), 3);
    assert!(it.pending().is_empty());
    assert_eq!(it.deadline_ns(), None);
}

#[test]
fn knobs_outside_their_ranges_are_named() {
    let tick = Knobs::new(Strategy::Tick);
    for (knobs, error) in [
        (
            Knobs {
                max_bytes: 0,
                ..tick
            },
            KnobError::MaxBytes,
        ),
        (
            Knobs {
                max_hold_ns: Some(0),
                ..tick
            },
            KnobError::Hold,
        ),
        (
            Knobs {
                max_buffered_bytes: Some(0),
                ..tick
            },
            KnobError::MaxBufferedBytes,
        ),
        (
            Knobs::new(Strategy::Coalesce { hold_ns: 0 }),
            KnobError::Hold,
        ),
    ] {
        assert_eq!(Coalescer::new(knobs).unwrap_err(), error);
    }
}
