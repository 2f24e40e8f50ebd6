//! Properties that hold for every strategy, whatever the program, the socket and the clock do.

use super::{driver::Driver, *};
use proptest::{
    prelude::{Just, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest},
    strategy::Strategy as Any,
    test_runner::TestCaseError,
};
use std::{ops::Range, time::Duration};

fn strategies() -> impl Any<Value = Strategy> {
    prop_oneof![
        Just(Strategy::NoDelay),
        Just(Strategy::Nagle),
        Just(Strategy::Tick),
        Just(Strategy::Combine),
        holds(1..200_000).prop_map(|hold| Strategy::Coalesce { hold }),
        holds(1..200_000).prop_map(|price| Strategy::Competitive { price }),
        Just(Strategy::Adaptive),
    ]
}

fn holds(ns: Range<u64>) -> impl Any<Value = Duration> {
    ns.prop_map(Duration::from_nanos)
}

fn knobs() -> impl Any<Value = Knobs> {
    (
        strategies(),
        1usize..2000,
        prop::option::of(holds(1..150_000)),
        prop::option::of(1usize..4000),
    )
        .prop_map(
            |(strategy, max_bytes, max_hold, max_buffered_bytes)| Knobs {
                strategy,
                max_bytes,
                max_hold,
                max_buffered_bytes,
            },
        )
}

/// What the socket takes of each write: `None` is EAGAIN.
fn takes() -> impl Any<Value = Vec<Option<usize>>> {
    prop::collection::vec(prop::option::of(0usize..500), 0..300)
}

#[derive(Clone, Debug)]
enum Step {
    Send(usize),
    Tick(bool),
    Writable,
    Blocked,
    Pass(u64),
    PassToDeadline,
    Flush,
    SetMaxBytes(usize),
    Discard,
}

fn steps() -> impl Any<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (0usize..300).prop_map(Step::Send),
        2 => (0usize..3000).prop_map(Step::Send),
        4 => any::<bool>().prop_map(Step::Tick),
        4 => Just(Step::Writable),
        1 => Just(Step::Blocked),
        6 => (0u64..60_000).prop_map(Step::Pass),
        2 => Just(Step::PassToDeadline),
        1 => Just(Step::Flush),
        1 => (1usize..3000).prop_map(Step::SetMaxBytes),
        1 => Just(Step::Discard),
    ];
    prop::collection::vec(step, 0..200)
}

/// The loop as a coalescer knows it, and whether there is a queue behind the socket.
fn loops() -> impl Any<Value = (Loop, bool)> {
    let loops = prop_oneof![Just(Loop::Plain), Just(Loop::Resting), Just(Loop::Foreign)];
    (loops, any::<bool>())
}

fn driver_of(
    knobs: Knobs,
    (of_loop, has_queue): (Loop, bool),
    takes: Vec<Option<usize>>,
) -> Driver {
    let mut driver = Driver::new(knobs, takes);
    driver.coalescer = Coalescer::of_loop(knobs, of_loop).unwrap();
    if has_queue {
        driver.coalescer.set_queue_behind();
    }
    driver
}

/// A message whose bytes say where in the stream they belong.
fn message(at: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|offset| (at + 7 * offset) as u8).collect()
}

/// Take one step; what was accepted and not discarded is in `sent`.
fn take(step: Step, driver: &mut Driver, sent: &mut Vec<u8>) -> Result<u64, TestCaseError> {
    match step {
        Step::Send(bytes) => {
            let message = message(sent.len(), bytes);
            if driver.send(&message) {
                sent.extend_from_slice(&message);
                return Ok(1);
            }
            let bound = driver.coalescer.max_buffered_bytes;
            let is_too_large = bytes > bound;
            prop_assert!(is_too_large || driver.coalescer.is_blocked());
            prop_assert!(driver.coalescer.pending().len() + bytes > bound);
        }
        Step::Tick(will_block) => driver.tick(will_block),
        Step::Writable => driver.writable(),
        Step::Blocked => driver.coalescer.on_blocked(),
        Step::Pass(ns) => driver.now_ns += ns,
        Step::PassToDeadline => {
            let deadline_ns = driver.coalescer.deadline_ns();
            driver.now_ns = driver.now_ns.max(deadline_ns.unwrap_or(0));
        }
        Step::Flush => driver.flush(),
        Step::SetMaxBytes(bytes) => driver.coalescer.set_max_bytes(bytes),
        Step::Discard => {
            let discarded = driver.coalescer.discard();
            sent.truncate(sent.len() - discarded);
        }
    }
    Ok(0)
}

proptest! {
    #[test]
    fn what_leaves_is_the_concatenation_of_what_came(
        knobs in knobs(),
        takes in takes(),
        steps in steps(),
        of_loop in loops(),
    ) {
        let mut driver = driver_of(knobs, of_loop, takes);
        let mut sent = Vec::new();
        let mut messages = 0;
        for step in steps {
            messages += take(step, &mut driver, &mut sent)?;
            let (received, coalescer) = (&driver.socket.received, &driver.coalescer);
            prop_assert_eq!(&[received, coalescer.pending()].concat(), &sent);
            prop_assert!(coalescer.pending().len() <= coalescer.max_buffered_bytes);
        }
        driver.socket.takes.clear();
        driver.writable();
        driver.flush();
        prop_assert_eq!(&driver.socket.received, &sent);
        let stats = driver.coalescer.stats();
        prop_assert_eq!(stats.messages, messages);
        prop_assert_eq!(stats.bytes, sent.len() as u64);
        let flushes = Reason::ALL.iter().map(|reason| stats.flushes(*reason));
        prop_assert_eq!(stats.writes, flushes.sum::<u64>());
    }

    #[test]
    fn the_short_way_of_a_message_comes_to_the_same_as_the_long_one(
        knobs in knobs(),
        takes in takes(),
        steps in steps(),
        of_loop in loops(),
    ) {
        let mut short = driver_of(knobs, of_loop, takes.clone());
        let mut long = driver_of(knobs, of_loop, takes);
        let mut sent = (Vec::new(), Vec::new());
        for step in steps {
            long.coalescer.close_room();
            take(step.clone(), &mut short, &mut sent.0)?;
            take(step, &mut long, &mut sent.1)?;
            prop_assert_eq!(&short.socket.received, &long.socket.received);
            let (short, long) = (&short.coalescer, &long.coalescer);
            prop_assert_eq!(short.pending(), long.pending());
            prop_assert_eq!(short.deadline_ns(), long.deadline_ns());
            prop_assert_eq!(short.wants_tick(), long.wants_tick());
            prop_assert_eq!(short.stats(), long.stats());
        }
    }

    #[test]
    fn what_is_held_and_not_for_the_socket_s_sake_has_a_deadline_that_ends_it(
        knobs in knobs(),
        takes in takes(),
        steps in steps(),
        will_block in any::<bool>(),
        of_loop in loops(),
    ) {
        let mut driver = driver_of(knobs, of_loop, takes);
        let hold_ns = driver.coalescer.hold_ns().unwrap_or(0);
        let mut sent = Vec::new();
        for step in steps {
            take(step, &mut driver, &mut sent)?;
            let coalescer = &driver.coalescer;
            let waits = !coalescer.pending().is_empty() && !coalescer.is_blocked();
            prop_assert_eq!(coalescer.deadline_ns().is_some(), waits);
            if let Some(deadline_ns) = coalescer.deadline_ns() {
                prop_assert!(deadline_ns <= driver.now_ns + hold_ns);
            }
        }
        driver.socket.takes.clear();
        // A tick may keep what came since the last one; nothing comes before the second.
        for _ in 0..2 {
            if let Some(deadline_ns) = driver.coalescer.deadline_ns() {
                driver.now_ns = driver.now_ns.max(deadline_ns);
                driver.tick(will_block);
            }
        }
        prop_assert!(driver.coalescer.pending().is_empty() || driver.coalescer.is_blocked());
    }

    #[test]
    fn nothing_is_held_beyond_its_limit_when_polled_at_the_deadline(
        strategy in strategies(),
        max_hold in prop::option::of(holds(1..150_000)),
        gaps_ns in prop::collection::vec((0u64..50_000, 1usize..400), 1..200),
        of_loop in loops(),
    ) {
        let knobs = Knobs { max_hold, ..Knobs::new(strategy) };
        let mut driver = driver_of(knobs, of_loop, Vec::new());
        let limit_ns = driver.coalescer.hold_ns().unwrap_or(0);
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

    /// The steps' time passes without a poll, and the socket may be blocked beyond a deadline.
    #[test]
    fn each_batch_that_leaves_after_its_deadline_is_counted(
        knobs in knobs(),
        steps in steps(),
        of_loop in loops(),
    ) {
        let mut driver = driver_of(knobs, of_loop, Vec::new());
        let mut sent = Vec::new();
        let mut overruns = 0;
        let mut holds = 0;
        let mut since_ns: Option<u64> = None;
        let hold_ns = driver.coalescer.hold_ns();
        for step in steps {
            let is_discard = matches!(step, Step::Discard);
            // The rule's own deadline may be earlier than the end of the hold.
            let own_ns = driver.coalescer.policy.deadline_ns();
            take(step, &mut driver, &mut sent)?;
            let is_held = !driver.coalescer.pending().is_empty();
            // Without partial writes a batch leaves whole; another may follow in the same step.
            let has_left = driver.coalescer.stats().holds().count() > holds;
            prop_assert!(!has_left || since_ns.is_some());
            if let (true, Some(since_ns)) = (has_left, since_ns) {
                holds += 1;
                let due_ns = hold_ns.map(|hold_ns| since_ns + hold_ns);
                let due_ns = due_ns.into_iter().chain(own_ns).min();
                overruns += u64::from(due_ns.is_some_and(|due_ns| driver.now_ns > due_ns));
            }
            prop_assert_eq!(driver.coalescer.stats().holds().count(), holds);
            if has_left || is_discard || !is_held {
                since_ns = None;
            }
            if is_held {
                since_ns = since_ns.or(Some(driver.now_ns));
            }
        }
        prop_assert_eq!(driver.coalescer.stats().overruns, overruns);
    }
}
