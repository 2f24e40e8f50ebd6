//! `adaptive` on one of many connections of an event loop that all get the same messages.

use super::{
    adaptive::{with_knobs, writes},
    *,
};

/// One of `connections` that all get the same messages: each of the others does the same as this one,
/// and a write takes 9 µs.
fn by_all(driver: &mut Driver, connections: u64, act: impl FnOnce(&mut Driver)) {
    let before = writes(driver);
    act(driver);
    let each_ns = 400 + 9_000 * (writes(driver) - before);
    driver.now_ns += connections * each_ns;
}

/// An iteration that brings so many messages to each of many connections. Returns the writes of each.
fn publish(driver: &mut Driver, connections: u64, messages: usize) -> u64 {
    let before = writes(driver);
    for _ in 0..messages {
        by_all(driver, connections, |one| assert!(one.send(&[0; 10])));
    }
    if driver.coalescer.wants_tick() || !driver.coalescer.pending().is_empty() {
        driver.coalescer.on_connections(connections as usize);
        by_all(driver, connections, |one| one.tick(false));
    }
    writes(driver) - before
}

#[test]
fn an_iteration_that_is_long_by_the_writes_of_many_connections_has_one_of_each() {
    for of_loop in [Loop::Resting, Loop::Foreign] {
        for messages in [2, 10, 64] {
            let mut driver = with_knobs(of_loop, Knobs::new(Strategy::Adaptive));
            for _ in 0..10 {
                assert_eq!(publish(&mut driver, 5_000, 1), 1, "{of_loop:?}");
            }
            // A loop that is not ours tells the end of few iterations by now.
            for _ in 0..7 {
                publish(&mut driver, 5_000, messages);
            }
            for _ in 0..10 {
                let made = publish(&mut driver, 5_000, messages);
                assert_eq!(made, 1, "{of_loop:?}, {messages} messages");
            }
        }
    }
}

#[test]
fn the_longest_hold_that_was_asked_for_bounds_what_many_connections_hold_too() {
    for of_loop in [Loop::Resting, Loop::Foreign] {
        let knobs = Knobs {
            max_hold: Some(Duration::from_millis(5)),
            ..Knobs::new(Strategy::Adaptive)
        };
        let mut driver = with_knobs(of_loop, knobs);
        for _ in 0..5 {
            publish(&mut driver, 5_000, 10);
        }
        // A message to each takes 2 ms, and so does one that is held: every third one lets all go.
        assert!(publish(&mut driver, 5_000, 9) >= 3, "{of_loop:?}");
    }
}
