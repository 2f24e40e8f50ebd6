use super::*;

const LONG_NS: u64 = 1_000_000;
const SENDER: Writer = Writer::Sender { of_batch: false };

/// A connection with nothing held, whose writes take 4 µs and whose writing thread comes after 6 µs.
struct Connection {
    adaptive: SharedAdaptive,
    messages: u64,
    now_ns: u64,
}

impl Connection {
    const WRITE_NS: u64 = 4_000;
    const WAKE_NS: u64 = 6_000;
    const FEW: u64 = 1 + 2 * Self::WAKE_NS / Self::WRITE_NS;

    fn new() -> Self {
        let mut adaptive = SharedAdaptive::new(LONG_NS);
        for _ in 0..50 {
            adaptive.write.note(Self::WRITE_NS);
            adaptive.wake.note(Self::WAKE_NS);
        }
        Self {
            adaptive,
            messages: 0,
            now_ns: LONG_NS,
        }
    }

    fn moment(&self, held_since_ns: Option<u64>) -> Moment {
        Moment {
            now_ns: self.now_ns,
            messages: self.messages,
            held_since_ns,
            is_blocked: false,
        }
    }

    /// Send messages at an instant, or as fast as they are written; the thread is told, comes and
    /// writes what is held. Returns how many their sender wrote.
    fn burst(&mut self, burst: u64) -> u64 {
        for written in 0..burst {
            if self.adaptive.on_message(self.moment(None)).is_none() {
                self.adaptive.on_batch(self.messages);
                self.adaptive.on_told(self.now_ns);
                let since_ns = self.now_ns;
                self.messages += burst - written;
                self.now_ns += Self::WAKE_NS;
                assert!(
                    self.adaptive
                        .on_tick(self.moment(Some(since_ns)), true)
                        .is_some()
                );
                self.adaptive.on_leaving(self.moment(Some(since_ns)));
                self.now_ns += Self::WRITE_NS;
                self.adaptive.on_written(self.now_ns, 0, Writer::Thread);
                return written;
            }
            self.messages += 1;
            self.now_ns += Self::WRITE_NS;
            self.adaptive.on_written(self.now_ns, 0, SENDER);
            self.adaptive.on_small_write(Self::WRITE_NS);
        }
        burst
    }

    fn rest(&mut self, ns: u64) {
        self.now_ns += ns;
    }
}

#[test]
fn messages_that_come_singly_are_written_by_their_senders() {
    let mut connection = Connection::new();
    for _ in 0..100 {
        assert_eq!(connection.burst(1), 1);
        connection.rest(Connection::WRITE_NS);
    }
}

#[test]
fn a_burst_is_written_by_its_sender_as_far_as_it_is_small_and_the_next_one_expected_to_be_like_it()
{
    let few = Connection::FEW;
    let mut connection = Connection::new();
    for (of_burst, written) in [(few, few), (16, few), (16, 0), (1, 0), (1, 1), (few, few)] {
        assert_eq!(connection.burst(of_burst), written, "of {of_burst}");
        connection.rest(LONG_NS);
    }
}

#[test]
fn a_load_that_keeps_up_comes_back_to_its_senders_after_a_burst_whatever_time_is_between() {
    for gap_ns in [0, 1_000, 20_000, LONG_NS] {
        let mut connection = Connection::new();
        assert_eq!(connection.burst(64), Connection::FEW);
        // The next one finds that the thread has written all of it.
        let mut single = || {
            connection.rest(gap_ns);
            connection.burst(1)
        };
        assert_eq!([single(), single(), single()], [0, 1, 1], "{gap_ns}");
    }
}

#[test]
fn what_comes_faster_than_it_can_be_written_stays_with_the_thread() {
    let mut connection = Connection::new();
    connection.burst(Connection::FEW + 1);
    for _ in 0..100 {
        assert_eq!(connection.burst(Connection::FEW + 1), 0);
    }
}

#[test]
fn more_messages_are_few_where_a_wake_up_is_dearer_and_never_more_than_eight() {
    for (wake_ns, few) in [(1_000, 1), (9_000, 5), (100_000, MOST_FEW)] {
        let mut connection = Connection::new();
        for _ in 0..200 {
            connection.adaptive.on_told(connection.now_ns);
            connection.rest(wake_ns);
            let _ = connection.adaptive.on_tick(connection.moment(None), true);
        }
        assert_eq!(connection.adaptive.few(), few, "{wake_ns}");
    }
}

#[test]
fn a_wake_up_is_timed_from_the_telling_and_only_where_the_thread_looks_at_what_is_held() {
    let mut connection = Connection::new();
    let before_ns = connection.adaptive.wake.ns();
    // Told to write the rest of what was taken, the peer lets it wait; then it comes by itself.
    connection.adaptive.on_told(connection.now_ns);
    connection.rest(LONG_NS);
    connection
        .adaptive
        .on_written(connection.now_ns, 0, Writer::Thread);
    let _ = connection.adaptive.on_tick(connection.moment(None), true);
    assert_eq!(connection.adaptive.wake.ns(), before_ns);
    // Held for long before it was told, as `flush` does.
    connection.adaptive.on_batch(0);
    connection.rest(LONG_NS);
    connection.adaptive.on_told(connection.now_ns);
    connection.rest(before_ns);
    let held = connection.moment(Some(connection.now_ns - LONG_NS));
    let _ = connection.adaptive.on_tick(held, true);
    assert_eq!(connection.adaptive.wake.ns(), before_ns);
}

/// How long a message is held that the thread does not come for, while others come each microsecond, and
/// how often a sender has looked.
fn rescued_after(adaptive: &mut SharedAdaptive) -> (u64, u64) {
    adaptive.on_batch(0);
    let mut looks = 0;
    for messages in 1.. {
        let now_ns = LONG_NS + 1_000 * messages;
        if messages >= adaptive.look_at() {
            looks += 1;
            let at = Moment {
                now_ns,
                messages,
                held_since_ns: Some(LONG_NS),
                is_blocked: false,
            };
            if adaptive.on_look(at) {
                return (now_ns - LONG_NS, looks);
            }
        }
    }
    unreachable!("it is rescued at some time")
}

#[test]
fn who_sends_writes_what_the_writing_thread_does_not_come_for() {
    let rescue_ns = RESCUE_WAKES * WAKE_NS;
    let mut adaptive = SharedAdaptive::new(LONG_NS);
    // A batch before it, of messages as close together, tells how often to look.
    adaptive.on_batch(0);
    adaptive.on_leaving(Moment {
        now_ns: LONG_NS + 10_000,
        messages: 10,
        held_since_ns: Some(LONG_NS),
        is_blocked: false,
    });
    let (held_ns, looks) = rescued_after(&mut adaptive);
    assert!((rescue_ns..2 * rescue_ns).contains(&held_ns), "{held_ns}");
    assert!(looks < 20, "{looks}");
}

#[test]
fn no_sender_waits_longer_for_the_thread_than_the_bound() {
    let (held_ns, _) = rescued_after(&mut SharedAdaptive::new(7_000));
    assert_eq!(held_ns, 7_000);
}
