mod adaptive;
mod busy_loops;
mod competitive;
mod many_connections;

use super::{driver::Driver, *};
use std::time::Duration;

const COALESCE_10_US: Strategy = Strategy::Coalesce {
    hold: Duration::from_micros(10),
};

fn coalescer(strategy: Strategy) -> Coalescer {
    Coalescer::new(Knobs::new(strategy)).unwrap()
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
    assert_eq!(stats.flushes(Reason::Idle), 1);
    assert_eq!(stats.flushes(Reason::Tick), 1);
}

#[test]
fn adaptive_expects_what_came_last_bursts_or_a_single_message() {
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
    // One pair may be chance, two are not, and a burst of more never is.
    assert_eq!(writes, [1, 1, 2, 2, 1, 1, 1, 1]);
    // The first single message after the bursts was held to the end of its iteration.
    assert_eq!(driver.coalescer.stats().flushes(Reason::Idle), 5);
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
    assert_eq!(it.on_message(b"a", || 1_000), Next::Arm);
    assert_eq!(it.on_tick(11_001, false), Next::Write(Reason::Deadline));
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
    assert_eq!(it.on_message(b"abc", || 0), Next::Arm);
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
                max_hold: Some(Duration::ZERO),
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
            Knobs::new(Strategy::Coalesce {
                hold: Duration::ZERO,
            }),
            KnobError::Hold,
        ),
        (
            Knobs::new(Strategy::Competitive {
                price: Duration::ZERO,
            }),
            KnobError::Price,
        ),
    ] {
        assert_eq!(Coalescer::new(knobs).unwrap_err(), error);
    }
}

#[test]
fn a_batch_leaves_a_blocked_socket_for_the_queue_behind_it() {
    for strategy in [Strategy::NoDelay, Strategy::Tick, Strategy::Adaptive] {
        let mut it = coalescer(strategy);
        it.set_queue_behind();
        it.set_max_bytes(10);
        it.on_blocked();
        assert_eq!(it.on_message(b"held", || 5), Next::Wait);
        assert_eq!(it.on_message(b"12345", || 5), Next::Wait);
        assert_eq!(it.on_message(b"6", || 5), Next::Write(Reason::Full));
        assert_eq!(it.pending(), b"held12345");
        it.on_written(10, b"6", Reason::Full, 5, 5);
        assert_eq!((it.is_blocked(), it.pending().len()), (true, 0));
    }
}

#[test]
fn what_has_a_bound_is_held_whatever_is_behind_the_socket() {
    let mut knobs = Knobs::new(Strategy::Tick);
    knobs.max_bytes = 10;
    knobs.max_buffered_bytes = Some(25);
    let mut it = Coalescer::new(knobs).unwrap();
    it.set_queue_behind();
    it.on_blocked();
    assert_eq!(it.on_message(&[1; 20], || 5), Next::Wait);
    assert_eq!(it.on_message(&[1; 10], || 5), Next::Refuse);
    assert_eq!(it.pending().len(), 20);
}
