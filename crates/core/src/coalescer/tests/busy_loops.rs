//! `adaptive` in a loop that never rests: the messages of closed loads are held, those of open loads
//! are not.

use super::{
    adaptive::{ITERATION_NS, LOOPS, driver_of, iterate, with_knobs, writes},
    *,
};

/// A loop that never rests; `brings` tells how many messages come in an iteration, from the time since
/// the one before. Returns the longest time for which messages had been held at an iteration's end.
fn stay_busy(driver: &mut Driver, iterations: usize, brings: impl Fn(u64) -> u64) -> u64 {
    let mut longest_ns = 0;
    let mut last_ns = driver.now_ns - ITERATION_NS;
    for _ in 0..iterations {
        let since_ns = driver.now_ns - std::mem::replace(&mut last_ns, driver.now_ns);
        for _ in 0..brings(since_ns) {
            driver.send(&[0; 10]);
        }
        driver.now_ns += ITERATION_NS;
        driver.tick(false);
        if let Some(begin_ns) = driver.coalescer.buffer.since_ns() {
            longest_ns = longest_ns.max(driver.now_ns - begin_ns);
        }
    }
    longest_ns
}

/// Messages that come as fast as the loop lets them.
fn closed(_: u64) -> u64 {
    8
}

/// Messages that have times of their own, 1 µs apart.
fn open(since_ns: u64) -> u64 {
    since_ns / 1_000
}

#[test]
fn what_comes_as_fast_as_it_is_let_is_held_for_many_iterations_and_no_longer_than_it_may_be() {
    for of_loop in LOOPS {
        let mut driver = driver_of(of_loop);
        stay_busy(&mut driver, 1_000, closed);
        let before = writes(&driver);
        let longest_ns = stay_busy(&mut driver, 1_000, closed);
        // 300 µs are some 55 iterations.
        let made = writes(&driver) - before;
        assert!((15..40).contains(&made), "{of_loop:?}: {made}");
        assert!((250_000..300_000).contains(&longest_ns), "{longest_ns}");
        assert_eq!(driver.coalescer.stats().overruns, 0);
        // The next iteration brings nothing.
        driver.tick(false);
        assert!(driver.coalescer.pending().is_empty(), "{of_loop:?}");
    }
}

#[test]
fn what_has_times_of_its_own_leaves_at_the_end_of_each_iteration() {
    for of_loop in LOOPS {
        let mut driver = driver_of(of_loop);
        stay_busy(&mut driver, 1_000, open);
        let before = writes(&driver);
        let longest_ns = stay_busy(&mut driver, 1_000, open);
        // All but those few that look whether waiting would bring more.
        let made = writes(&driver) - before;
        assert!(made >= 970, "{of_loop:?}: {made}");
        assert!(longest_ns <= 2 * ITERATION_NS, "{of_loop:?}: {longest_ns}");
    }
}

#[test]
fn a_load_that_becomes_an_open_one_is_no_longer_held() {
    for of_loop in LOOPS {
        let mut driver = driver_of(of_loop);
        stay_busy(&mut driver, 1_000, closed);
        // It takes some long holds to notice.
        stay_busy(&mut driver, 2_000, open);
        let before = writes(&driver);
        stay_busy(&mut driver, 1_000, open);
        assert!(writes(&driver) - before >= 900, "{of_loop:?}");
    }
}

#[test]
fn nothing_is_held_longer_than_a_quarter_of_the_time_for_which_the_loop_has_been_busy() {
    for of_loop in LOOPS {
        let mut driver = driver_of(of_loop);
        stay_busy(&mut driver, 1_000, closed);
        driver.tick(true);
        let begin_ns = driver.now_ns;
        while driver.now_ns < begin_ns + 2_000_000 {
            let longest_ns = stay_busy(&mut driver, 10, closed);
            let busy_ns = driver.now_ns - begin_ns;
            assert!(longest_ns <= busy_ns / 4 + 2 * ITERATION_NS, "{longest_ns}");
        }
    }
}

#[test]
fn a_loop_that_is_about_to_wait_holds_nothing_and_has_not_been_busy() {
    for of_loop in LOOPS {
        let mut driver = driver_of(of_loop);
        stay_busy(&mut driver, 1_000, closed);
        driver.send(b"z");
        driver.tick(true);
        assert!(driver.coalescer.pending().is_empty(), "{of_loop:?}");
        let before = writes(&driver);
        stay_busy(&mut driver, 4, closed);
        assert!(writes(&driver) - before >= 4, "{of_loop:?}");
    }
}

/// A loop that has rested after a load that was closed.
fn rested_after_closed(of_loop: Loop) -> Driver {
    let mut driver = driver_of(of_loop);
    stay_busy(&mut driver, 1_000, closed);
    driver.tick(true);
    driver
}

#[test]
fn a_load_that_was_closed_before_a_rest_is_soon_known_to_be_one_again() {
    for of_loop in LOOPS {
        let mut unknown = driver_of(of_loop);
        stay_busy(&mut unknown, 100, closed);
        assert!(writes(&unknown) > 60, "{of_loop:?}: {}", writes(&unknown));
        let mut driver = rested_after_closed(of_loop);
        let before = writes(&driver);
        stay_busy(&mut driver, 100, closed);
        // Eleven until it is known, and then fewer and fewer.
        let made = writes(&driver) - before;
        assert!((12..=20).contains(&made), "{of_loop:?}: {made}");
    }
}

#[test]
fn a_load_that_is_open_after_a_rest_is_not_held_for_having_been_closed() {
    for of_loop in LOOPS {
        let mut driver = rested_after_closed(of_loop);
        let before = writes(&driver);
        let longest_ns = stay_busy(&mut driver, 100, open);
        // All but those that look whether waiting would bring more.
        let made = writes(&driver) - before;
        assert!(made >= 90, "{of_loop:?}: {made}");
        assert!(longest_ns <= 2 * ITERATION_NS, "{of_loop:?}: {longest_ns}");
    }
}

#[test]
fn short_phases_of_a_load_that_was_closed_are_looked_at_once() {
    for of_loop in LOOPS {
        let mut driver = rested_after_closed(of_loop);
        let mut made = Vec::new();
        for _ in 0..4 {
            let before = writes(&driver);
            stay_busy(&mut driver, 8, closed);
            driver.tick(true);
            made.push(writes(&driver) - before);
        }
        assert!(
            made[1..].iter().all(|&writes| writes >= 8),
            "{of_loop:?}: {made:?}"
        );
    }
}

#[test]
fn a_blocked_socket_is_no_rest() {
    let mut driver = driver_of(Loop::Resting);
    stay_busy(&mut driver, 1_000, closed);
    driver.coalescer.on_blocked();
    driver.now_ns += 50_000;
    driver.tick(true);
    assert!(!driver.coalescer.wants_tick(), "its loop would never wait");
    driver.writable();
    let before = writes(&driver);
    stay_busy(&mut driver, 100, closed);
    assert!(writes(&driver) - before < 20);
}

#[test]
fn a_max_hold_bounds_what_a_busy_loop_holds() {
    let mut knobs = Knobs::new(Strategy::Adaptive);
    knobs.max_hold = Some(Duration::from_micros(200));
    for of_loop in LOOPS {
        let mut driver = with_knobs(of_loop, knobs);
        let longest_ns = stay_busy(&mut driver, 4_000, closed);
        assert!((150_000..200_000).contains(&longest_ns), "{longest_ns}");
    }
}

#[test]
fn a_pause_without_ticks_is_a_rest() {
    for of_loop in LOOPS {
        let mut driver = driver_of(of_loop);
        stay_busy(&mut driver, 1_000, closed);
        driver.tick(false);
        iterate(&mut driver, 1, 0);
        for pause_ns in [100_000, 10_000_000_000] {
            driver.now_ns += pause_ns;
            driver.send(b"b");
            assert!(driver.coalescer.pending().is_empty(), "{of_loop:?}");
            driver.tick(false);
        }
    }
}
