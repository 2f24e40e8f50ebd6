use super::*;

const LONG_NS: u64 = 1_000_000;
const SENDER: Writer = Writer::Sender { of_batch: false };

/// A moment with nothing held.
fn idle(messages: u64, now_ns: u64) -> Moment {
    Moment {
        now_ns,
        messages,
        held_since_ns: None,
        is_blocked: false,
    }
}

fn held(messages: u64, since_ns: u64, now_ns: u64) -> Moment {
    Moment {
        held_since_ns: Some(since_ns),
        ..idle(messages, now_ns)
    }
}

/// Send a message while nothing is held; if its sender is to write it, that takes 4 µs. Returns
/// whether it was.
fn single(adaptive: &mut SharedAdaptive, messages: &mut u64, now_ns: &mut u64) -> bool {
    let is_written = adaptive.on_message(idle(*messages, *now_ns)).is_some();
    if !is_written {
        adaptive.on_batch(*messages);
    }
    *messages += 1;
    if is_written {
        *now_ns += 4_000;
        adaptive.on_written(*now_ns, 0, SENDER);
    }
    is_written
}

/// Let the writing thread visit; a write takes it 4 µs. Returns whether what is held was due.
fn visit(adaptive: &mut SharedAdaptive, messages: u64, now_ns: &mut u64) -> bool {
    let is_due = adaptive
        .on_tick(held(messages, *now_ns, *now_ns), true)
        .is_some();
    adaptive.on_leaving(held(messages, *now_ns, *now_ns));
    *now_ns += 4_000;
    adaptive.on_written(*now_ns, 0, Writer::Thread);
    is_due
}

/// Send a burst of messages; returns how many of them their sender wrote.
fn burst(adaptive: &mut SharedAdaptive, burst: u64, messages: &mut u64, now_ns: &mut u64) -> u64 {
    for written in 0..burst {
        if !single(adaptive, messages, now_ns) {
            *messages += burst - written - 1;
            assert!(visit(adaptive, *messages, now_ns));
            return written;
        }
    }
    burst
}

/// Make the writing thread poll: tell it of one message, again and again, as soon as it wrote the
/// last.
fn poll(adaptive: &mut SharedAdaptive, messages: &mut u64, now_ns: &mut u64) {
    adaptive.on_written(*now_ns, 0, Writer::Thread);
    for _ in 0..EARLY_WAKES {
        adaptive.on_batch(*messages);
        *messages += 1;
        visit(adaptive, *messages, now_ns);
    }
    assert!(adaptive.next_visit_ns(*now_ns).is_some());
}

#[test]
fn messages_that_come_singly_are_written_by_their_senders() {
    let mut adaptive = SharedAdaptive::new(LONG_NS);
    let (mut messages, mut now_ns) = (0, LONG_NS);
    for _ in 0..100 {
        assert!(single(&mut adaptive, &mut messages, &mut now_ns));
        now_ns += GAP_NS;
    }
}

#[test]
fn a_burst_is_written_by_its_sender_as_far_as_it_is_small_and_the_next_one_expected_to_be_like_it()
{
    let mut adaptive = SharedAdaptive::new(LONG_NS);
    let (mut messages, mut now_ns) = (0, LONG_NS);
    for (of_burst, written) in [(8, 8), (16, 8), (16, 0), (1, 0), (1, 0), (8, 8)] {
        let found = burst(&mut adaptive, of_burst, &mut messages, &mut now_ns);
        assert_eq!(found, written, "of {of_burst}");
        now_ns += LONG_NS;
    }
}

#[test]
fn a_burst_goes_on_after_the_writing_thread_has_been_there() {
    let mut adaptive = SharedAdaptive::new(LONG_NS);
    let (mut messages, mut now_ns) = (0, LONG_NS);
    burst(&mut adaptive, 16, &mut messages, &mut now_ns);
    now_ns += LONG_NS;
    for _ in 0..3 {
        // The thread took the core from the sender after each message of a large burst.
        assert_eq!(burst(&mut adaptive, 1, &mut messages, &mut now_ns), 0);
        now_ns += GAP_AFTER_THREAD_NS - 1;
    }
}

#[test]
fn who_sends_writes_what_the_writing_thread_does_not_come_for() {
    let mut adaptive = SharedAdaptive::new(LONG_NS);
    adaptive.on_batch(0);
    let mut looks = 0;
    for message in 1.. {
        let now_ns = LONG_NS + 1_000 * message;
        if adaptive.is_to_look(message) {
            looks += 1;
            if adaptive.on_look(held(message, LONG_NS, now_ns)) {
                let held_ns = now_ns - LONG_NS;
                assert!((RESCUE_NS..2 * RESCUE_NS).contains(&held_ns), "{held_ns}");
                break;
            }
        }
    }
    assert!(looks < 20, "{looks}");
}

#[test]
fn where_the_writing_thread_polls_nobody_writes_single_messages() {
    let mut adaptive = SharedAdaptive::new(LONG_NS);
    let (mut messages, mut now_ns) = (0, LONG_NS);
    poll(&mut adaptive, &mut messages, &mut now_ns);
    assert!(!single(&mut adaptive, &mut messages, &mut now_ns));
    assert_eq!(adaptive.next_visit_ns(now_ns), Some(now_ns + POLL_NS));
    let since_ns = now_ns;
    messages += RARE;
    assert!(
        adaptive
            .on_tick(held(messages, since_ns, since_ns + HOLD_NS - 1), true)
            .is_none()
    );
    messages += RARE;
    assert!(
        adaptive
            .on_tick(held(messages, since_ns, since_ns + HOLD_NS), true)
            .is_some()
    );
    // They become rare: what is held leaves, and then the thread is to be told.
    assert!(
        adaptive
            .on_tick(held(messages + 1, now_ns, now_ns), true)
            .is_some()
    );
    assert_eq!(adaptive.next_visit_ns(now_ns), None);
}

#[test]
fn who_does_nothing_but_send_holds_for_a_quarter_of_that_time_and_no_longer_than_it_may() {
    let mut adaptive = SharedAdaptive::new(LONG_NS);
    let (mut messages, mut now_ns) = (0, LONG_NS);
    poll(&mut adaptive, &mut messages, &mut now_ns);
    let begun_ns = now_ns;
    let mut longest_ns = 0;
    while now_ns < begun_ns + 8 * LONG_NS {
        let since_ns = now_ns;
        adaptive.on_batch(messages);
        loop {
            messages += 1;
            now_ns += 100;
            if adaptive.is_to_look(messages) && adaptive.on_look(held(messages, since_ns, now_ns)) {
                break;
            }
        }
        let held_ns = now_ns - since_ns;
        let may_ns = HOLD_NS.max((since_ns - begun_ns) / BUSY_SHARE).min(LONG_NS);
        // A look comes every 64 messages, and polling began a little earlier.
        assert!(held_ns < may_ns + 10_000, "{held_ns} {may_ns}");
        longest_ns = longest_ns.max(held_ns);
        adaptive.on_leaving(held(messages, since_ns, now_ns));
        adaptive.on_written(now_ns, 0, SENDER);
    }
    assert!(longest_ns >= LONG_NS * 4 / 5);
    // Messages with time between them end that.
    adaptive.on_leaving(held(messages + 4, now_ns, now_ns + HOLD_NS));
    adaptive.on_leaving(held(messages + 8, now_ns + HOLD_NS, now_ns + 2 * HOLD_NS));
    adaptive.on_batch(messages);
    assert!(adaptive.on_look(held(messages, now_ns, now_ns + HOLD_NS)));
}

#[test]
fn who_begins_to_poll_comes_after_a_while_whatever_the_bound() {
    let mut adaptive = SharedAdaptive::new(2 * POLL_NS);
    adaptive.on_written(LONG_NS, 0, Writer::Thread);
    for wake in 0..u64::from(EARLY_WAKES) {
        adaptive.on_batch(wake);
        adaptive.on_tick(held(wake + 1, LONG_NS, LONG_NS), true);
    }
    assert_eq!(adaptive.next_visit_ns(LONG_NS), Some(LONG_NS + POLL_NS));
}

#[test]
fn a_bound_below_all_that_is_kept_too() {
    let mut adaptive = SharedAdaptive::new(7_000);
    for turn in 0..2 * u64::from(EARLY_WAKES) {
        adaptive.on_batch(turn);
        assert!(!adaptive.on_look(held(turn, LONG_NS, LONG_NS + 6_999)));
        assert!(adaptive.on_look(held(turn, LONG_NS, LONG_NS + 7_000)));
        // The writing thread is always told.
        assert!(
            adaptive
                .on_tick(held(turn + 1, LONG_NS, LONG_NS), true)
                .is_some()
        );
        assert_eq!(adaptive.next_visit_ns(LONG_NS), None);
    }
}
