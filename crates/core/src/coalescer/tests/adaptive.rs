//! The behaviour of `adaptive` in a loop, as its writes show it.

use super::*;

pub(super) const LOOPS: [Loop; 3] = [Loop::Plain, Loop::Resting, Loop::Foreign];
/// After this time without a write a plain loop that never polls has begun another iteration.
const IDLE_NS: u64 = 20_000;
/// An iteration of a busy loop, and a write.
pub(super) const ITERATION_NS: u64 = 5_000;
const WRITE_NS: u64 = 4_000;

pub(super) fn driver_of(of_loop: Loop) -> Driver {
    with_knobs(of_loop, Knobs::new(Strategy::Adaptive))
}

pub(super) fn with_knobs(of_loop: Loop, knobs: Knobs) -> Driver {
    let mut driver = Driver::new(knobs, Vec::new());
    driver.coalescer = Coalescer::of_loop(knobs, of_loop).unwrap();
    driver.write_ns = WRITE_NS;
    driver
}

pub(super) fn writes(driver: &Driver) -> u64 {
    driver.coalescer.stats().writes
}

#[test]
fn nothing_is_held_across_an_iteration_that_would_last_beyond_its_limit() {
    for of_loop in LOOPS {
        let mut driver = driver_of(of_loop);
        for _ in 0..200 {
            driver.send(&[0; 100]);
            driver.now_ns += 301_000;
            driver.tick(false);
            assert!(driver.coalescer.pending().is_empty(), "{of_loop:?}");
        }
        assert_eq!(driver.coalescer.stats().overruns, 0);
    }
}

/// An iteration with so many messages, `work_ns` before each. Returns how many writes it made.
pub(super) fn iterate(driver: &mut Driver, messages: usize, work_ns: u64) -> u64 {
    let before = writes(driver);
    for _ in 0..messages {
        driver.now_ns += work_ns;
        driver.send(&[0; 10]);
    }
    driver.tick(false);
    writes(driver) - before
}

#[test]
fn what_follows_the_first_message_of_an_iteration_is_one_write_however_slow_the_program_is() {
    for of_loop in LOOPS {
        for work_ns in [0, 1_000, 15_000, 19_000] {
            let mut driver = driver_of(of_loop);
            iterate(&mut driver, 1, 1_000);
            assert!(iterate(&mut driver, 100, work_ns) <= 2, "{work_ns}");
            for _ in 0..20 {
                let made = iterate(&mut driver, 100, work_ns);
                assert!(made <= 1, "{of_loop:?}, {work_ns} ns of work: {made}");
            }
        }
    }
}

#[test]
fn a_header_and_a_body_are_one_write() {
    for of_loop in LOOPS {
        for work_ns in [0, 20_000, 200_000] {
            let mut driver = driver_of(of_loop);
            for _ in 0..50 {
                iterate(&mut driver, 2, work_ns);
                driver.now_ns += 1_000_000;
            }
            // But the first two, and the very first one before a plain loop has polled.
            let made = writes(&driver);
            assert!(made <= 53, "{of_loop:?}, {work_ns} ns: {made}");
        }
    }
}

/// Iterations with one message and with two take turns, each after a rest. Returns the writes of 100.
fn single_and_double(of_loop: Loop, work_ns: u64, hands_on: bool) -> u64 {
    let mut driver = driver_of(of_loop);
    driver.hands_on = hands_on;
    for iteration in 0..100 {
        iterate(&mut driver, 1 + iteration % 2, work_ns);
        driver.tick(true);
        driver.now_ns += 50_000;
    }
    writes(&driver)
}

#[test]
fn the_first_message_waits_where_those_that_usually_follow_would_wait_longer_for_its_write() {
    for (of_loop, hands_on) in LOOPS
        .into_iter()
        .flat_map(|each| [(each, false), (each, true)])
    {
        // Half a message follows on average, and a write takes 4 µs: worth it for 2 µs.
        let made = single_and_double(of_loop, 500, hands_on);
        assert!((100..=110).contains(&made), "{of_loop:?}: {made}");
        let made = single_and_double(of_loop, 10_000, hands_on);
        assert!((140..=150).contains(&made), "{of_loop:?}: {made}");
    }
}

#[test]
fn a_slow_iteration_does_not_hold_its_messages_to_its_end() {
    for of_loop in LOOPS {
        let mut driver = driver_of(of_loop);
        // It was not known to be slow, nor that a plain loop polls.
        iterate(&mut driver, 100, 100_000);
        iterate(&mut driver, 100, 100_000);
        for _ in 0..5 {
            driver.now_ns += 100_000;
            let before = writes(&driver);
            driver.send(&[0; 10]);
            assert_eq!(writes(&driver), before + 1, "the first leaves at once");
            // 10 ms: a write every 2 ms.
            let made = iterate(&mut driver, 99, 100_000);
            assert!((4..=6).contains(&made), "{of_loop:?}: {made}");
        }
    }
}

#[test]
fn a_plain_loop_that_never_polls_tells_iterations_by_time() {
    let mut driver = driver_of(Loop::Plain);
    for _ in 0..50 {
        driver.send(&[0; 10]);
        driver.now_ns += IDLE_NS;
    }
    assert_eq!(writes(&driver), 50);
}

/// A plain loop that waits until the deadline at most and then polls, as is documented: not where
/// nothing is held.
fn poll_at_deadlines(driver: &mut Driver) {
    while let Some(deadline_ns) = driver.coalescer.deadline_ns() {
        driver.now_ns = driver.now_ns.max(deadline_ns);
        driver.tick(false);
    }
}

#[test]
fn a_plain_loop_that_polls_at_deadlines_alone_sends_single_messages_at_once() {
    let mut driver = driver_of(Loop::Plain);
    // A burst has it poll.
    for _ in 0..3 {
        driver.send(&[0; 10]);
    }
    poll_at_deadlines(&mut driver);
    driver.now_ns += 1_000_000_000;
    let mut held = 0;
    for _ in 0..50 {
        driver.send(&[0; 10]);
        held += usize::from(!driver.coalescer.pending().is_empty());
        poll_at_deadlines(&mut driver);
        driver.now_ns += 1_000_000;
    }
    // The first is expected to be a burst, too.
    assert!(held <= 1, "{held}");
}

#[test]
fn a_plain_loop_that_no_longer_polls_is_not_waited_for() {
    let mut driver = driver_of(Loop::Plain);
    for _ in 0..10 {
        iterate(&mut driver, 1, 1_000);
    }
    // From now on it sends a request, and waits for the answer.
    let mut held = 0;
    for _ in 0..20 {
        driver.send(&[0; 10]);
        held += usize::from(!driver.coalescer.pending().is_empty());
        poll_at_deadlines(&mut driver);
        driver.now_ns += 2_000_000;
    }
    // One may be held to look whether waiting would bring more.
    assert!(held <= 1, "{held}");
}

#[test]
fn an_iteration_whose_end_was_missed_ends_after_a_slow_one_s_time() {
    for of_loop in [Loop::Resting, Loop::Foreign] {
        let mut driver = driver_of(of_loop);
        driver.send(&[0; 10]);
        // Nobody ticks: the socket was blocked, and its loop waited.
        driver.now_ns += 3_000_000;
        let before = writes(&driver);
        driver.send(&[0; 10]);
        assert_eq!(writes(&driver), before + 1, "{of_loop:?}");
    }
}

#[test]
fn a_loop_that_is_not_ours_is_seldom_asked_for_ticks_where_messages_come_singly() {
    let mut driver = driver_of(Loop::Foreign);
    let mut ticks = 0;
    let mut held = 0;
    for _ in 0..800 {
        driver.send(&[0; 10]);
        held += usize::from(!driver.coalescer.pending().is_empty());
        while driver.coalescer.wants_tick() || !driver.coalescer.pending().is_empty() {
            driver.now_ns += 1_000;
            driver.tick(false);
            ticks += 1;
        }
        driver.now_ns += 50_000;
    }
    assert!((110..=160).contains(&ticks), "{ticks}");
    // Looks whether waiting would bring more.
    assert!(held <= 16, "{held}");
    // Several in an iteration are noticed all the same, whatever is between them.
    for _ in 0..8 {
        iterate(&mut driver, 4, 25_000);
    }
    assert_eq!(iterate(&mut driver, 4, 25_000), 1);
}

/// An iteration of a loop that calls at its end where it is asked to. Returns how many writes it made.
fn iterate_as_asked(driver: &mut Driver, messages: usize, work_ns: u64) -> u64 {
    let before = writes(driver);
    for _ in 0..messages {
        driver.now_ns += work_ns;
        driver.send(&[0; 10]);
    }
    if driver.coalescer.wants_tick() || !driver.coalescer.pending().is_empty() {
        driver.now_ns += 1_000;
        driver.tick(false);
    }
    writes(driver) - before
}

/// How many writes the first iteration of 100 messages makes after so many with one, each after a rest.
/// Those that follow it make one at most.
fn first_of_several(of_loop: Loop, singles: u64, work_ns: u64) -> u64 {
    let mut driver = driver_of(of_loop);
    for _ in 0..singles {
        iterate_as_asked(&mut driver, 1, 1_000);
        driver.now_ns += 50_000;
    }
    let first = iterate_as_asked(&mut driver, 100, work_ns);
    for _ in 0..20 {
        let made = iterate_as_asked(&mut driver, 100, work_ns);
        assert!(made <= 1, "{of_loop:?}, {work_ns} ns of work: {made}");
    }
    first
}

#[test]
fn after_single_messages_a_loop_that_is_not_ours_writes_seven_singly_and_then_the_rest() {
    for work_ns in [0, 1_000, 2_000, 15_000, 19_000] {
        // One iteration in seven is told of, and now and then one is held to look whether waiting brings
        // more; the first with several may be any of these.
        let most = |of_loop| {
            let phases = (20..90).map(|singles| first_of_several(of_loop, singles, work_ns));
            phases.max().unwrap()
        };
        let of_foreign = if work_ns < 1_500 { 2 } else { 8 };
        assert_eq!(most(Loop::Foreign), of_foreign, "{work_ns} ns of work");
        for of_loop in [Loop::Plain, Loop::Resting] {
            assert!(most(of_loop) <= 2, "{of_loop:?}, {work_ns} ns of work");
        }
    }
}

#[test]
fn a_loop_of_ours_is_asked_for_ticks_until_it_rests() {
    let mut driver = driver_of(Loop::Resting);
    assert!(!driver.coalescer.wants_tick());
    driver.send(&[0; 10]);
    assert!(driver.coalescer.wants_tick());
    driver.tick(false);
    assert!(driver.coalescer.wants_tick(), "it is busy");
    driver.tick(false);
    assert!(!driver.coalescer.wants_tick(), "nothing came");
    driver.send(&[0; 10]);
    driver.tick(true);
    assert!(!driver.coalescer.wants_tick(), "it waits");
}
