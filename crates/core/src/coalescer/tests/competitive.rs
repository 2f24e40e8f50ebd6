use super::*;

const COMPETITIVE_12_US: Strategy = Strategy::Competitive {
    price: Duration::from_micros(12),
};

#[test]
fn competitive_writes_when_all_delays_together_have_cost_as_much_as_a_write() {
    let mut it = coalescer(COMPETITIVE_12_US);
    assert_eq!(it.on_message(b"a", || 1_000), Next::Arm);
    assert_eq!(it.deadline_ns(), Some(13_000));
    assert_eq!(it.on_tick(2_000, false), Next::Wait);
    // Each message that comes moves the deadline, and the caller is told so.
    assert_eq!(it.on_message(b"b", || 3_000), Next::Arm);
    assert_eq!(it.deadline_ns(), Some(8_000));
    assert_eq!(it.on_message(b"c", || 3_000), Next::Arm);
    assert_eq!(it.deadline_ns(), Some(6_334));
    assert_eq!(it.on_tick(6_333, true), Next::Wait);
    assert_eq!(it.on_tick(6_334, true), Next::Write(Reason::Deadline));
    it.on_written(3, &[], Reason::Deadline, 6_334, 7_000);
    assert_eq!((it.deadline_ns(), it.stats().overruns), (None, 0));
    // The next batch has the whole price.
    assert_eq!(it.on_message(b"d", || 8_000), Next::Arm);
    assert_eq!(it.deadline_ns(), Some(20_000));
}

#[test]
fn a_message_that_comes_when_the_others_are_due_leaves_with_them_at_once() {
    for (at_ns, overruns) in [(13_000, 0), (20_000, 1)] {
        let mut it = coalescer(COMPETITIVE_12_US);
        assert_eq!(it.on_message(b"a", || 1_000), Next::Arm);
        let next = it.on_message(b"b", || at_ns);
        assert_eq!(next, Next::Write(Reason::Deadline));
        it.on_written(2, b"b", Reason::Deadline, at_ns, at_ns + 1);
        assert_eq!((it.pending().len(), it.stats().overruns), (0, overruns));
    }
}

#[test]
fn a_batch_of_competitive_that_is_full_or_held_for_long_enough_leaves_before_its_deadline() {
    let mut knobs = Knobs::new(COMPETITIVE_12_US);
    knobs.max_bytes = 3;
    let mut it = Coalescer::new(knobs).unwrap();
    assert_eq!(it.on_message(b"a", || 1_000), Next::Arm);
    assert_eq!(it.on_message(b"b", || 2_000), Next::Arm);
    let next = it.on_message(b"c", || 2_000);
    assert_eq!(next, Next::Write(Reason::Full));
    knobs.max_hold = Some(Duration::from_micros(5));
    let mut it = Coalescer::new(knobs).unwrap();
    assert_eq!(it.on_message(b"a", || 1_000), Next::Arm);
    assert_eq!((it.deadline_ns(), it.hold_ns()), (Some(6_000), Some(5_000)));
    // By its own rule it would be due at 7.5 µs now: nothing has moved.
    assert_eq!(it.on_message(b"b", || 2_000), Next::Wait);
    assert_eq!(it.on_tick(5_999, false), Next::Wait);
    assert_eq!(it.on_tick(6_000, false), Next::Write(Reason::Deadline));
}

#[test]
fn a_message_of_competitive_is_never_held_without_its_time() {
    let mut it = coalescer(COMPETITIVE_12_US);
    assert!(it.watches_time());
    assert_eq!(it.on_message(b"a", || 1_000), Next::Arm);
    assert!(!it.hold_with_others(b"b"));
    it.hold(b"b", || 3_000);
    assert_eq!(it.deadline_ns(), Some(8_000));
}

#[test]
fn what_a_blocked_socket_made_late_does_not_make_the_next_batch_late() {
    let mut driver = Driver::new(Knobs::new(COMPETITIVE_12_US), vec![None]);
    driver.send(b"a");
    driver.now_ns += 12_000;
    driver.tick(true);
    assert!(driver.coalescer.is_blocked());
    driver.now_ns += 1_000_000_000;
    driver.send(b"b");
    assert_eq!(driver.coalescer.deadline_ns(), None);
    driver.writable();
    assert_eq!(driver.socket.received, b"ab");
    driver.send(b"c");
    let deadline_ns = driver.coalescer.deadline_ns();
    assert_eq!(deadline_ns, Some(driver.now_ns + 12_000));
}
