//! What a connection may send, and what it makes of what comes back.

use super::*;
use proptest::prelude::*;
use tinygram_core::Histogram;

fn pool(message_bytes: u64) -> MessagePool {
    MessagePool::generate(7, message_bytes, message_bytes).unwrap()
}

/// Send all that may be sent, at `at_ns`; what the kernel was given.
fn send(echoes: &mut Echoes, pool: &MessagePool, at_ns: u64) -> Vec<u8> {
    let mut sent = Vec::new();
    loop {
        let bytes = echoes.to_send(pool);
        if bytes.is_empty() {
            return sent;
        }
        sent.extend_from_slice(bytes);
        echoes.on_sent(pool, bytes.len(), at_ns);
    }
}

fn recording(trips: &mut Histogram) -> impl FnMut(u64, u64, u64) {
    |_begun_ns, value_ns, count| trips.record_many(value_ns, count)
}

#[test]
fn what_is_encrypted_is_begun_and_is_offered_again_as_long_as_it_was() {
    let pool = pool(10);
    let mut echoes = Echoes::new(&pool, 0, 3);
    echoes.allow(100);
    assert_eq!(echoes.to_send(&pool).len(), 30);
    echoes.on_sent(&pool, 5, 100);
    // A record of twelve bytes, in which the second message begins.
    echoes.on_encrypted(12, 100);
    echoes.on_encrypted(12, 150);
    assert_eq!(echoes.in_flight_ns(200), 2 * 100);
    echoes.stop();
    assert_eq!(
        (echoes.left_messages(), echoes.to_send(&pool).len()),
        (2, 15)
    );
    echoes.on_sent(&pool, 12, 200);
    assert_eq!(echoes.to_send(&pool).len(), 3);
    echoes.on_sent(&pool, 3, 210);
    let mut trips = Histogram::new();
    let sent = pool.bytes()[..20].to_vec();
    let ended = echoes.on_received(&pool, &sent, 300, recording(&mut trips));
    assert_eq!(ended.unwrap().round_trips_ns, 2 * 200);
    assert!(echoes.is_done() && echoes.to_send(&pool).is_empty());
}

#[test]
fn no_more_than_depth_messages_are_in_flight_and_none_is_begun_beyond_the_limit() {
    let pool = pool(10);
    let mut echoes = Echoes::new(&pool, 0, 3);
    assert!(echoes.to_send(&pool).is_empty());
    echoes.allow(5);
    let mut trips = Histogram::new();
    let sent = send(&mut echoes, &pool, 100);
    assert_eq!(sent.len(), 30);
    let ended = echoes.on_received(&pool, &sent[..25], 150, recording(&mut trips));
    assert_eq!(
        ended.unwrap(),
        Completed {
            messages: 2,
            round_trips_ns: 100
        }
    );
    let more = send(&mut echoes, &pool, 200);
    assert_eq!(more.len(), 20);
    // One of the first write, and two of the second.
    assert_eq!(echoes.in_flight_ns(210), 110 + 2 * 10);
    let rest = [&sent[25..], &more].concat();
    let ended = echoes
        .on_received(&pool, &rest, 260, recording(&mut trips))
        .unwrap();
    // One of the first write, two of the second.
    assert_eq!((ended.messages, ended.round_trips_ns), (3, 160 + 2 * 60));
    assert!(echoes.is_done() && echoes.to_send(&pool).is_empty());
    assert_eq!(
        (trips.count(), trips.min_ns(), trips.max_ns()),
        (5, 50, 160)
    );
    assert_eq!((echoes.bytes(), echoes.outstanding_bytes()), ((50, 50), 0));
}

#[test]
fn one_that_is_stopped_finishes_what_it_has_begun() {
    let pool = pool(10);
    let mut echoes = Echoes::new(&pool, 0, 4);
    echoes.allow(1_000);
    echoes.on_sent(&pool, 13, 1);
    echoes.stop();
    assert_eq!(echoes.to_send(&pool).len(), 7);
    assert_eq!(echoes.left_messages(), 2);
    // A later run goes on where this one ended.
    send(&mut echoes, &pool, 2);
    echoes.allow(1);
    assert_eq!(echoes.to_send(&pool).len(), 10);
}

#[test]
fn connections_send_different_bytes() {
    let pool = pool(10);
    let of = |first| {
        let mut echoes = Echoes::new(&pool, first, 1);
        echoes.allow(1);
        send(&mut echoes, &pool, 0)
    };
    assert_ne!(of(0), of(1));
    assert_eq!(of(1), pool.message(1));
    assert_eq!(of(1 + pool.message_count()), of(1));
}

#[test]
fn a_server_that_sends_its_whole_buffer_is_caught_with_the_first_read() {
    let pool = pool(10);
    let mut echoes = Echoes::new(&pool, 0, 1);
    echoes.allow(5);
    let mut sent = send(&mut echoes, &pool, 0);
    sent.resize(64, 0);
    let mut trips = Histogram::new();
    assert_eq!(
        echoes.on_received(&pool, &sent, 1, recording(&mut trips)),
        Err(EchoError::TooLong {
            received: 64,
            sent: 10
        })
    );
    assert_eq!(trips.count(), 0);
}

#[test]
fn a_trusting_client_takes_any_bytes_for_its_own_and_keeps_what_it_should_have_seen() {
    let pool = pool(10);
    let mut echoes = Echoes::new(&pool, 0, 1).trusting();
    echoes.allow(3);
    let mut trips = Histogram::new();
    for round in 1..=3 {
        send(&mut echoes, &pool, round);
        let ended = echoes.on_received(&pool, &[0; 10], round + 1, recording(&mut trips));
        assert_eq!(ended.unwrap().messages, 1);
    }
    assert!(echoes.is_done());
    assert!(matches!(
        echoes.fault(),
        Some(EchoError::Differs { offset }) if offset < 10
    ));
}

proptest! {
    #[test]
    fn an_honest_echo_passes_however_both_ways_are_cut(
        size in 1u64..50, depth in 1u64..9, count in 1u64..60, cuts in proptest::collection::vec(1usize..70, 1..20)
    ) {
        let pool = pool(size);
        let mut echoes = Echoes::new(&pool, 3, depth);
        echoes.allow(count);
        let mut trips = Histogram::new();
        let mut wire: VecDeque<u8> = VecDeque::new();
        let mut cut = cuts.iter().cycle();
        let mut now_ns = 0;
        while !echoes.is_done() {
            now_ns += 1;
            let bytes = echoes.to_send(&pool);
            let taken = bytes.len().min(*cut.next().unwrap());
            wire.extend(&bytes[..taken]);
            echoes.on_sent(&pool, taken, now_ns);
            let back = wire.len().min(*cut.next().unwrap());
            let chunk: Vec<u8> = wire.drain(..back).collect();
            prop_assert!(echoes.on_received(&pool, &chunk, now_ns, recording(&mut trips)).is_ok());
            prop_assert!(echoes.outstanding_bytes() <= depth * size);
        }
        prop_assert_eq!(trips.count(), count);
        prop_assert_eq!(echoes.bytes(), (count * size, count * size));
    }

    #[test]
    fn one_byte_that_is_not_the_one_that_was_sent_is_named(at in 0usize..200, size in 1u64..30) {
        let pool = pool(size);
        let mut echoes = Echoes::new(&pool, 0, 1_000);
        echoes.allow(200);
        let mut wire = send(&mut echoes, &pool, 0);
        wire.truncate(200);
        prop_assume!(at < wire.len());
        wire[at] ^= 0x10;
        let mut trips = Histogram::new();
        prop_assert_eq!(
            echoes.on_received(&pool, &wire, 1, recording(&mut trips)),
            Err(EchoError::Differs { offset: at as u64 })
        );
    }
}
