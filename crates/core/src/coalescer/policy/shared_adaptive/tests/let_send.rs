//! Senders that send more while nothing is written.

use super::*;

/// Messages in a row that their sender writes, and rests for 6 µs after each: one each 10 µs.
fn written_in_a_row() -> Connection {
    let mut connection = Connection::new();
    for _ in 0..IN_A_ROW {
        assert_eq!(connection.burst(1), 1);
        connection.rest(6_000);
    }
    let at = connection.moment(None);
    assert!(connection.adaptive.on_message(at).is_none(), "to look");
    connection
}

#[test]
fn a_sender_that_sends_more_while_none_is_written_is_let_send_for_longer_each_time() {
    let mut connection = written_in_a_row();
    for writes in [2, 4, 8, 16] {
        let (held_ns, _) = connection.rescue(6_000);
        let patience_ns = writes * Connection::WRITE_NS;
        assert!(
            (patience_ns..patience_ns + 6_000).contains(&held_ns),
            "{held_ns}"
        );
        connection.rest(6_000);
        let at = connection.moment(None);
        assert!(connection.adaptive.on_message(at).is_none());
    }
    // The scheduler lets the thread write once: that tells nothing of the sender.
    connection
        .adaptive
        .on_written(connection.now_ns, Writer::Thread);
    connection.rest(6_000);
    let at = connection.moment(None);
    assert!(connection.adaptive.on_message(at).is_none());
    assert!((128_000..134_000).contains(&connection.rescue(6_000).0));
}

#[test]
fn messages_that_come_slowly_after_a_fast_time_go_back_to_their_senders_though_the_thread_comes_for_each()
 {
    let mut connection = written_in_a_row();
    for _ in 0..3 {
        connection.rescue(6_000);
        connection.rest(6_000);
        let at = connection.moment(None);
        assert!(connection.adaptive.on_message(at).is_none());
    }
    connection.adaptive.on_batch(connection.messages);
    connection
        .adaptive
        .on_written(connection.now_ns, Writer::Sender);
    // One each 20 µs, with a thread that always comes after 6 µs.
    let by_senders: Vec<_> = (0..20)
        .map(|_| {
            connection.rest(10_000);
            connection.burst(1)
        })
        .collect();
    let first = by_senders.iter().position(|&written| written == 1);
    assert_eq!(first, Some(SLOW_VISITS as usize), "{by_senders:?}");
    assert!(by_senders[SLOW_VISITS as usize..].iter().all(|&it| it == 1));
}

#[test]
fn messages_that_come_no_faster_while_none_is_written_are_written_by_their_senders_again() {
    let mut connection = written_in_a_row();
    assert_eq!(connection.rescue(10_000).0, 10_000);
    connection.rest(6_000);
    assert_eq!(connection.burst(1), 1);
}
