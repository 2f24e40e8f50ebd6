//! The pacer against the clock: it is never early, and its figures about itself are right.

use super::*;
use crate::schedule::Arrival;

fn pacer(rate: f64, count: u64) -> Pacer {
    let duration_ns = (count as f64 * 1e9 / rate) as u64;
    let schedule = Schedule::new(rate, Arrival::Constant, 1, duration_ns, 0).unwrap();
    let mut pacer = Pacer::new(schedule);
    pacer.start(monotonic_ns());
    pacer
}

fn wait_readable(fd: RawFd) {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one valid pollfd.
    assert_eq!(unsafe { libc::poll(&mut poll, 1, 5_000) }, 1);
}

/// Returns what the timer releases, after as many rings as that takes.
fn ring(pacer: &mut Pacer, fd: RawFd) -> Range<u64> {
    loop {
        wait_readable(fd);
        let range = pacer.on_timer().unwrap();
        if !range.is_empty() {
            return range;
        }
    }
}

#[test]
fn every_message_is_released_once_in_order_and_never_early() {
    let mut pacer = pacer(20_000.0, 400);
    let mut next = 0;
    while pacer.next_due_ns().is_some() {
        let range = pacer.wait(None);
        assert_eq!(range.start, next);
        assert!(range.end > range.start);
        assert!(monotonic_ns() >= pacer.start_ns + pacer.schedule.due_ns(range.end - 1));
        next = range.end;
    }
    assert_eq!(next, 400);
    assert_eq!(pacer.errors().count(), 400);
    assert!(pacer.wait(None).is_empty());
}

#[test]
fn a_pacer_that_sleeps_spins_nowhere_and_notes_how_late_each_message_was() {
    let mut pacer = pacer(2_000.0, 20).without_spinning().with_notes();
    let fd = pacer.timer_fd().unwrap();
    while pacer
        .next_due_ns()
        .is_some_and(|due| due < pacer.due_at_ns(10))
    {
        pacer.wait(None);
    }
    while pacer.arm(true).unwrap() {
        ring(&mut pacer, fd);
    }
    assert_eq!(pacer.spin_cpu_ns(), 0);
    assert_eq!(pacer.late_ns().len(), 20);
    let mut same = Histogram::new();
    for late_ns in pacer.late_ns() {
        same.record(u64::from(*late_ns));
    }
    assert_eq!(same.max_ns(), pacer.errors().max_ns());
}

#[test]
fn a_wait_ends_at_its_deadline_with_nothing() {
    let mut pacer = pacer(1.0 / 60.0, 1);
    let until_ns = monotonic_ns() + 2_000_000;
    assert!(pacer.wait(Some(until_ns)).is_empty());
    let due_ns = pacer.next_due_ns().unwrap();
    assert!((until_ns..due_ns).contains(&monotonic_ns()));
}

#[test]
fn a_late_sender_gets_everything_that_is_due() {
    let mut pacer = pacer(1_000.0, 100).with_notes();
    sleep_until_ns(pacer.start_ns + 50_000_000);
    let asked_ns = monotonic_ns();
    let range = pacer.wait(None);
    let waited_ns = monotonic_ns() - asked_ns;
    assert!(range.end >= 50, "{range:?}");
    // The sender was late, not the pacer: that errs by no more than it took to answer.
    let late_ns = pacer.late_ns().iter().map(|&late_ns| u64::from(late_ns));
    assert!(late_ns.max().unwrap() <= waited_ns);
    assert_eq!(pacer.releases(), 1);
}

#[test]
fn what_came_due_in_the_senders_own_sleep_is_no_error_of_the_pacer() {
    let mut pacer = pacer(1_000.0, 40).with_notes();
    while let Some(due_ns) = pacer.next_due_ns() {
        // 1 ns early: the sleep, which ends late, then ends when the message is due.
        pacer.wait(Some(due_ns - 1));
    }
    // A busy host may stop it between two looks at the clock, but not each of forty times.
    let least_ns = pacer.late_ns().iter().min().unwrap();
    assert!(*least_ns < 2_000, "{least_ns} ns");
}

#[test]
fn a_wait_that_is_spun_whole_leaves_the_event_loop_a_turn_before() {
    // Due after a second: a host that stops for less cannot make it late.
    let mut pacer = pacer(1.0, 1);
    pacer.margin = Margin::of_ns(10_000_000_000);
    let fd = pacer.timer_fd().unwrap();
    assert!(pacer.arm(true).unwrap());
    wait_readable(fd);
    assert!(pacer.on_timer().unwrap().is_empty());
    assert!(
        monotonic_ns() < pacer.next_due_ns().unwrap(),
        "it rang at once"
    );
    wait_readable(fd);
    assert_eq!(pacer.on_timer().unwrap(), 0..1);
    assert!(pacer.spin_cpu_ns() > 0);
}

#[test]
fn one_that_yields_is_never_early_either() {
    let mut pacer = pacer(20_000.0, 200).yielding();
    while let Some(due_ns) = pacer.next_due_ns() {
        pacer.wait(None);
        assert!(monotonic_ns() >= due_ns);
    }
    assert_eq!(pacer.errors().count(), 200);
}

#[test]
fn the_timer_releases_what_is_due() {
    let mut pacer = pacer(1_000.0, 5);
    let fd = pacer.timer_fd().unwrap();
    let mut released = 0;
    while pacer.arm(true).unwrap() {
        let range = ring(&mut pacer, fd);
        assert!(monotonic_ns() >= pacer.start_ns + pacer.schedule.due_ns(range.start));
        released += range.end - range.start;
    }
    assert_eq!(released, 5);
}

#[test]
fn all_that_is_spun_is_spun_in_a_slice_also_while_it_settles() {
    let slices = Slices::new(vec![0, 40_000_000, 70_000_000], 5_000_000).unwrap();
    let schedule = Schedule::new(2_000.0, Arrival::Constant, 1, 15_000_000, 1).unwrap();
    let schedule = schedule.in_slices(&slices);
    // Where a busy host ends each sleep too late, nothing is left to spin, and it is tried again.
    let has_spun = (0..10).any(|_| {
        let mut pacer = Pacer::new(schedule.clone()).in_slices(slices.clone(), 0, None);
        pacer.start(monotonic_ns() + 1_000_000);
        while pacer.next_due_ns().is_some() {
            pacer.wait(None);
        }
        let spun_ns = pacer.spin_cpu_ns_by_slice();
        assert_eq!(spun_ns.len(), 3);
        assert_eq!(spun_ns.iter().sum::<u64>(), pacer.spin_cpu_ns());
        pacer.spin_cpu_ns() > 0
    });
    assert!(has_spun);
}

#[test]
fn errors_are_told_by_the_slice_in_which_a_message_was_due_once_it_has_settled() {
    let slices = Slices::new(vec![0, 20_000_000, 40_000_000], 5_000_000).unwrap();
    let schedule = Schedule::new(1_000.0, Arrival::Constant, 1, 15_000_000, 1).unwrap();
    let alone = pacer(1_000.0, 3).with_notes();
    let mut pacer = Pacer::new(schedule.in_slices(&slices)).in_slices(slices, 2_000_000, None);
    pacer.start(monotonic_ns());
    while pacer.next_due_ns().is_some() {
        pacer.wait(None);
    }
    // A message each millisecond; those of the first two of each slice settle.
    let late_ns = pacer.late_ns();
    let expected: Vec<Vec<u32>> = (0..3)
        .map(|slice| late_ns[slice * 5 + 2..slice * 5 + 5].to_vec())
        .collect();
    assert_eq!(pacer.errors_by_slice_ns(), expected);
    assert!(alone.errors_by_slice_ns().is_empty());
}
