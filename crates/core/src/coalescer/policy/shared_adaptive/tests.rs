mod let_send;

use super::*;

const LONG_NS: u64 = 1_000_000;

/// A connection with nothing held, whose writes take 4 µs and whose writing thread comes after 6 µs.
struct Connection {
    adaptive: SharedAdaptive,
    messages: u64,
    now_ns: u64,
}

impl Connection {
    const WRITE_NS: u64 = 4_000;
    const WAKE_NS: u64 = 6_000;
    /// Four would take 56 µs of delay and CPU time written one by one, and 50 µs left to the thread.
    const FEW: u64 = 3;

    fn new() -> Self {
        let mut adaptive = SharedAdaptive::new(LONG_NS);
        for _ in 0..50 {
            adaptive.write.note(Self::WRITE_NS);
            adaptive.wake.note(Self::WAKE_NS);
            adaptive.rested_wake.note(Self::WAKE_NS);
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

    /// Send messages at one instant, or as fast as they are written; the thread is told, comes and
    /// writes what is held. Returns how many messages their sender wrote.
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
                self.now_ns += Self::WRITE_NS;
                self.adaptive.on_written(self.now_ns, Writer::Thread);
                return written;
            }
            self.messages += 1;
            self.now_ns += Self::WRITE_NS;
            self.adaptive.on_written(self.now_ns, Writer::Sender);
            self.adaptive.on_small_write(Self::WRITE_NS);
        }
        burst
    }

    /// Messages come, one each `gap_ns`, but the thread does not, until a sender writes them. Returns how
    /// long they were held, and how often a sender has looked.
    fn rescue(&mut self, gap_ns: u64) -> (u64, u64) {
        self.adaptive.on_batch(self.messages);
        self.messages += 1;
        let since_ns = self.now_ns;
        for looks in 1.. {
            while self.messages < self.adaptive.look_at() {
                self.messages += 1;
                self.now_ns += gap_ns;
            }
            if self.adaptive.on_look(self.moment(Some(since_ns))) {
                let held_ns = self.now_ns - since_ns;
                self.now_ns += Self::WRITE_NS;
                self.adaptive.on_written(self.now_ns, Writer::Sender);
                return (held_ns, looks);
            }
            self.messages += 1;
            self.now_ns += gap_ns;
        }
        unreachable!("it is written at some time")
    }

    fn rest(&mut self, ns: u64) {
        self.now_ns += ns;
    }

    /// The largest number of messages at a time that are few.
    fn few(&self) -> u64 {
        (1..).take_while(|&it| self.adaptive.are_few(it)).count() as u64
    }
}

#[test]
fn senders_write_until_the_price_of_a_write_is_known() {
    let mut connection = Connection::new();
    connection.adaptive = SharedAdaptive::new(LONG_NS);
    assert_eq!(connection.burst(2), 2);
    connection.rest(LONG_NS);
    // By the guesses alone none of these would be: 44 × 4 µs is more than 9 × 9.
    assert!(connection.burst(8) >= 3);
    assert!(connection.adaptive.write.is_known());
    connection.rest(LONG_NS);
    assert_eq!(connection.burst(8), 0);
}

#[test]
fn where_no_write_measures_its_price_senders_write_a_few_bursts_alone() {
    let mut connection = Connection::new();
    connection.adaptive = SharedAdaptive::new(LONG_NS);
    for burst in 0..4 {
        let before = connection.messages;
        for _ in 0..8 {
            if connection
                .adaptive
                .on_message(connection.moment(None))
                .is_some()
            {
                // A large write: nobody is told how long a small one takes.
                connection.messages += 1;
                connection.now_ns += 3 * Connection::WRITE_NS;
                connection
                    .adaptive
                    .on_written(connection.now_ns, Writer::Sender);
            }
        }
        assert!(!connection.adaptive.write.is_known());
        let written = connection.messages - before;
        assert_eq!(written == 8, burst < 2, "burst {burst}: {written}");
        connection.rest(LONG_NS);
    }
}

#[test]
fn messages_that_come_singly_are_written_by_their_senders() {
    let mut connection = Connection::new();
    for _ in 0..200 {
        assert_eq!(connection.burst(1), 1);
        connection.rest((DENSE_WRITES - 1) * Connection::WRITE_NS);
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
    for (wake_ns, few) in [(1_000, 1), (9_000, 4), (100_000, MOST_FEW)] {
        let mut connection = Connection::new();
        for _ in 0..500 {
            connection.adaptive.wake.note(wake_ns);
        }
        assert_eq!(connection.few(), few, "{wake_ns}");
        // After a rest the other price decides.
        connection.rest(LONG_NS);
        connection.burst(1);
        assert_eq!(connection.few(), Connection::FEW);
    }
}

#[test]
fn what_the_threads_coming_takes_while_senders_are_busy_is_no_price_of_it_when_they_have_time() {
    let mut connection = Connection::new();
    connection.burst(1);
    let before_ns = connection.adaptive.rested_wake.ns();
    for is_busy in [true, false] {
        let gap_ns = if is_busy { 2_000 } else { LONG_NS };
        connection.rest(gap_ns);
        connection.burst(1);
        connection.adaptive.on_told(connection.now_ns);
        connection.rest(LONG_NS);
        let _ = connection.adaptive.on_tick(connection.moment(None), true);
        let is_same = connection.adaptive.rested_wake.ns() == before_ns;
        assert_eq!(is_same, is_busy);
    }
}

#[test]
fn a_write_is_priced_where_it_follows_another_and_one_that_wakes_its_receiver_costs_no_less() {
    for (gap_ns, took_ns, is_priced) in [
        (LONG_NS, 50_000, false),
        (LONG_NS, 1_000, true),
        (0, 50_000, true),
    ] {
        let mut connection = Connection::new();
        connection.burst(1);
        let before_ns = connection.adaptive.write.ns();
        connection.rest(gap_ns);
        let asked = connection.adaptive.on_message(connection.moment(None));
        assert!(asked.is_some());
        connection.adaptive.on_small_write(took_ns);
        let is_same = connection.adaptive.write.ns() == before_ns;
        assert_eq!(!is_same, is_priced, "{gap_ns} {took_ns}");
    }
}

#[test]
fn small_bursts_that_the_thread_writes_have_senders_try_again_after_a_while() {
    let mut connection = Connection::new();
    let burst = Connection::FEW + 2;
    connection.burst(burst);
    let left_to_the_thread = (0..2_000)
        .take_while(|_| {
            connection.rest(LONG_NS);
            connection.burst(burst) == 0
        })
        .count();
    assert!(
        (100..1_000).contains(&left_to_the_thread),
        "{left_to_the_thread}"
    );
    // Larger ones are never few, whatever a write costs.
    connection.burst(64);
    for _ in 0..2_000 {
        connection.rest(LONG_NS);
        assert_eq!(connection.burst(64), 0);
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
        .on_written(connection.now_ns, Writer::Thread);
    let _ = connection.adaptive.on_tick(connection.moment(None), true);
    assert_eq!(connection.adaptive.wake.ns(), before_ns);
    // Held for long before it was told, as `flush` does.
    connection.adaptive.on_batch(0);
    connection.rest(LONG_NS);
    connection.adaptive.on_told(connection.now_ns);
    connection.rest(before_ns / 2);
    let held = connection.moment(Some(connection.now_ns - LONG_NS));
    let _ = connection.adaptive.on_tick(held, true);
    assert!(connection.adaptive.wake.ns() < before_ns);
}

#[test]
fn who_sends_writes_what_the_writing_thread_does_not_come_for_in_the_time_of_two_writes() {
    let mut connection = Connection::new();
    for (gap_ns, held_ns) in [(8_000, 8_000), (5_000, 10_000)] {
        connection.rest(LONG_NS);
        connection.burst(1);
        connection.rest(gap_ns);
        assert_eq!(connection.rescue(gap_ns).0, held_ns);
    }
    // Messages so far apart could have been written one by one.
    connection.rest(1_000);
    assert_eq!(connection.burst(1), 1);
}

#[test]
fn a_burst_that_the_thread_does_not_come_for_is_left_to_it_longer_and_looked_at_a_few_times() {
    let mut connection = Connection::new();
    let (held_ns, looks) = connection.rescue(200);
    assert!((32_000..32_200).contains(&held_ns), "{held_ns}");
    assert!(connection.adaptive.holds_on, "the rest before it is no gap");
    assert!(looks < 20, "{looks}");
}

#[test]
fn messages_that_always_come_faster_than_they_can_be_written_are_held_twice_as_long_each_time() {
    let mut connection = Connection::new();
    for _ in 0..IN_A_ROW {
        assert_eq!(connection.burst(1), 1);
        connection.rest(1_600);
    }
    // One of so many in a row is held to look whether they do.
    for writes in [2, 4, 8, 16, 32, 64, 128, 256, 256] {
        assert!(
            connection
                .adaptive
                .on_message(connection.moment(None))
                .is_none()
        );
        let (held_ns, _) = connection.rescue(1_600);
        let patience_ns = (writes * Connection::WRITE_NS).min(LONG_NS);
        assert!(
            (patience_ns..patience_ns + 1_600).contains(&held_ns),
            "{held_ns}"
        );
        connection.rest(1_600);
    }
    // A rest ends it: the thread comes for the first message, and what follows is few again.
    connection.rest(REST_WRITES * Connection::WRITE_NS);
    assert_eq!([connection.burst(1), connection.burst(1)], [0, 1]);
}

#[test]
fn a_price_that_writes_into_a_full_socket_have_lowered_is_measured_again() {
    let mut connection = Connection::new();
    for _ in 0..100 {
        connection.adaptive.on_small_write(200);
    }
    assert_eq!(connection.adaptive.write.ns(), 500);
    // None follows within that price.
    for _ in 0..800 {
        let _ = connection.adaptive.on_message(connection.moment(None));
        connection.adaptive.on_small_write(Connection::WRITE_NS);
        connection.now_ns += Connection::WRITE_NS;
        connection
            .adaptive
            .on_written(connection.now_ns, Writer::Sender);
        connection.rest(2_000);
    }
    let ns = connection.adaptive.write.ns();
    assert!((3_500..4_500).contains(&ns), "{ns}");
}

#[test]
fn messages_that_come_nearly_as_fast_as_writes_are_held_on_and_no_longer_each_time() {
    let mut connection = Connection::new();
    for _ in 0..4 {
        connection.rest(1_400);
        assert_eq!(connection.rescue(2_500).0, 10_000);
        assert!(connection.adaptive.holds_on);
    }
}

#[test]
fn a_look_whose_sender_cannot_write_learns_nothing() {
    let mut connection = Connection::new();
    connection.adaptive.on_batch(0);
    connection.messages = 20;
    let mut at = connection.moment(Some(LONG_NS - 500_000));
    at.is_blocked = true;
    assert!(!connection.adaptive.on_look(at));
    let adaptive = &connection.adaptive;
    assert_eq!((adaptive.holds_on, adaptive.doublings), (false, 0));
    assert_eq!(adaptive.before_burst, 0);
    at.is_blocked = false;
    assert!(connection.adaptive.on_look(at));
}

#[test]
fn no_sender_waits_longer_for_the_thread_than_the_bound() {
    for gap_ns in [100, 1_000, 3_000, 7_000] {
        let mut connection = Connection::new();
        connection.adaptive.most_ns = 7_000;
        let (held_ns, _) = connection.rescue(gap_ns);
        assert!(
            (7_000..7_000 + gap_ns).contains(&held_ns),
            "{gap_ns}: {held_ns}"
        );
    }
}
