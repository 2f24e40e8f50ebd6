//! The client at a rate: messages are sent when they are due, or as soon after that as there is room.

use super::{
    Load, PER_READ, TIMEOUT_NS, counted_while_serving, in_slices::echo_after, load, settings,
    while_serving,
};
use crate::{
    echo::client::{Goal, RoundTrips, Turn},
    schedule::Slices,
};
use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener},
    thread,
    time::Duration,
};
use tinygram_net::clock::monotonic_ns;

const MS: u64 = 1_000_000;

fn trips_ns(turn: &Turn) -> &[u64] {
    match &turn.measured.round_trips {
        RoundTrips::Each(values_ns) => values_ns,
        RoundTrips::Counted(_) => panic!("of a slice they are one by one"),
    }
}

#[test]
fn all_messages_are_sent_none_before_it_is_due_and_their_times_count_from_then() {
    let due_ns: Vec<u64> = (0..40).map(|message| message * MS).collect();
    for (is_polling, is_trusting) in [(false, false), (true, false), (false, true)] {
        while_serving(&settings(PER_READ, 4096), |address| {
            let mut client = Load {
                is_polling,
                is_trusting,
                ..load(100, 3, 2)
            }
            .client(address);
            client.run(Goal::Messages(24), TIMEOUT_NS).unwrap();
            let before_ns = monotonic_ns();
            // The run is long: on a busy host the client may be late.
            let found = client
                .run_at_a_rate(due_ns.clone(), 1_000 * MS, TIMEOUT_NS)
                .unwrap();
            let [turn] = &found.turns[..] else {
                panic!("a run that is alone is one turn");
            };
            assert!(turn.last_ns >= before_ns + 39 * MS);
            assert_eq!((turn.all_messages, turn.measured.messages), (40, 40));
            assert_eq!(turn.measured.messages_of, [14, 13, 13]);
            assert_eq!(turn.measured.round_trips.count(), 40);
            assert_eq!(
                (found.start_delays.not_begun, found.start_delays.behind_ns),
                (0, 0)
            );
            assert_eq!(found.start_delays.times.count(), 40);
            // Little's law, by the time in which they were in flight.
            let run_ns = turn.measured.end_ns - turn.measured.start_ns;
            assert!(turn.measured.in_flight_ns <= 6 * run_ns);
            // Nothing of it stays.
            let next = client.run(Goal::Messages(12), TIMEOUT_NS).unwrap();
            assert_eq!((next.all_messages, next.measured.messages), (12, 12));
            if !is_trusting {
                client.finish(Duration::from_secs(5)).unwrap();
            }
        });
    }
}

#[test]
fn no_more_than_depth_messages_are_in_flight_and_the_others_count_from_when_they_were_due() {
    const REST_MS: u64 = 40;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        let seen = scope.spawn(|| {
            // Replies to all that has come, again and again, and tells the most that there was at a time.
            let (mut stream, _) = listener.accept().unwrap();
            let mut buffer = [0; 1 << 12];
            let mut most = 0;
            while stream.peek(&mut buffer).unwrap() > 0 {
                thread::sleep(Duration::from_millis(REST_MS));
                let count = stream.read(&mut buffer).unwrap();
                most = most.max(count);
                stream.write_all(&buffer[..count]).unwrap();
            }
            most
        });
        let mut client = load(10, 1, 2).client(address);
        let due_ns = (0..7).map(|message| message * MS).collect();
        let found = client
            .run_at_a_rate(due_ns, 5_000 * MS, TIMEOUT_NS)
            .unwrap();
        client.finish(Duration::from_secs(5)).unwrap();
        drop(client);
        assert_eq!(seen.join().unwrap(), 20);
        let turn = &found.turns[0];
        assert_eq!((turn.all_messages, found.start_delays.not_begun), (7, 0));
        // Two at a time at most: the seventh one came back with the fourth reply at the earliest.
        let mut all = tinygram_core::Histogram::new();
        turn.measured.round_trips.add_to(&mut all);
        assert!(all.max_ns() >= (4 * REST_MS - 6) * MS);
        assert!(found.start_delays.times.max_ns() >= (3 * REST_MS - 6) * MS);
    });
}

#[test]
fn what_has_no_room_in_its_slice_is_sent_in_the_next_one_and_counts_in_its_own() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let rests = [600, 600].map(Duration::from_millis);
    thread::scope(|scope| {
        scope.spawn(|| echo_after(listener.accept().unwrap().0, &rests));
        let mut client = load(100, 1, 1).client(address);
        let slices = Slices::new(vec![0, 1_000 * MS], 500 * MS).unwrap();
        let start_ns = monotonic_ns();
        let found = client
            .run_at_a_rate_in_slices(
                vec![50 * MS, 100 * MS],
                &slices,
                10 * MS,
                start_ns,
                TIMEOUT_NS,
            )
            .unwrap();
        let turns = &found.turns;
        assert_eq!([turns[0].all_messages, turns[1].all_messages], [1, 1]);
        assert_eq!(trips_ns(&turns[1]), [] as [u64; 0]);
        let [first_ns, second_ns] = trips_ns(&turns[0]) else {
            panic!("both were due in the first slice");
        };
        assert!(*first_ns >= 600 * MS);
        // It waited for the rest of its slice, and then for its reply.
        assert!(*second_ns >= (400 + 600) * MS);
        assert!(turns[1].last_ns >= start_ns + (1_000 + 600) * MS);
        // Own time stood still between the slices.
        let waited_ns = turns[1].last_ns - (start_ns + 100 * MS);
        assert!(*second_ns <= waited_ns - 500 * MS);
        assert_eq!(
            (
                found.start_delays.times.count(),
                found.start_delays.not_begun
            ),
            (2, 0)
        );
        drop(client);
    });
}

#[test]
fn what_was_not_sent_before_the_end_counts_with_the_time_that_it_waited() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            echo_after(listener.accept().unwrap().0, &[Duration::from_millis(700)]);
        });
        let mut client = load(100, 1, 1).client(address);
        let due_ns = [10, 20, 30].map(|at_ms| at_ms * MS).to_vec();
        let found = client.run_at_a_rate(due_ns, 500 * MS, TIMEOUT_NS).unwrap();
        let turn = &found.turns[0];
        assert_eq!((turn.all_messages, found.start_delays.not_begun), (1, 2));
        assert_eq!(found.start_delays.behind_ns, 480 * MS);
        assert_eq!(turn.measured.round_trips.count(), 3);
        assert_eq!(found.start_delays.times.count(), 3);
        drop(client);
    });
}

#[test]
fn slices_that_were_slept_through_send_nothing_in_the_turns_of_others() {
    let slices = Slices::new(vec![0, 20 * MS], 10 * MS).unwrap();
    let (found, counts) = counted_while_serving(&settings(PER_READ, 4096), |address| {
        let mut client = load(100, 3, 4).client(address);
        let start_ns = monotonic_ns() - 1_000 * MS;
        let due_ns = (1..=20).map(|message| message * MS).collect();
        client.run_at_a_rate_in_slices(due_ns, &slices, MS, start_ns, TIMEOUT_NS)
    });
    let found = found.unwrap();
    let sent: u64 = found.turns.iter().map(|turn| turn.all_messages).sum();
    assert_eq!((sent, counts.accepted), (0, 3));
    assert_eq!(
        (found.start_delays.not_begun, found.start_delays.behind_ns),
        (20, 19 * MS)
    );
    // Those that were due while a slice settled are not measured.
    let trips = found.turns.iter().map(|turn| trips_ns(turn).len());
    assert_eq!(trips.collect::<Vec<_>>(), [9, 9]);
}

#[test]
fn messages_that_are_due_in_slices_are_sent_in_them() {
    let slices = Slices::new((0..10).map(|slice| slice * 30 * MS).collect(), 20 * MS).unwrap();
    while_serving(&settings(PER_READ, 4096), |address| {
        let mut client = load(100, 3, 4).client(address);
        client.run(Goal::Messages(24), TIMEOUT_NS).unwrap();
        let start_ns = monotonic_ns() + 5 * MS;
        let due_ns: Vec<u64> = (0..400).map(|message| MS / 4 + message * MS / 2).collect();
        let found = client
            .run_at_a_rate_in_slices(due_ns, &slices, 3 * MS, start_ns, TIMEOUT_NS)
            .unwrap();
        let sent: u64 = found.turns.iter().map(|turn| turn.all_messages).sum();
        assert_eq!(sent + found.start_delays.not_begun, 400);
        for turn in &found.turns {
            // Six of forty are due while a slice settles; each of the others counts, sent or not.
            assert_eq!(trips_ns(turn).len(), 34);
            let measured = &turn.measured;
            assert!(measured.messages <= turn.all_messages);
            assert!(measured.in_flight_ns <= 12 * (measured.end_ns - measured.start_ns));
        }
        assert_eq!(found.start_delays.times.count(), 340);
        client.finish(Duration::from_secs(5)).unwrap();
    });
}

#[test]
fn a_server_that_does_not_answer_is_named_when_time_is_up() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut client = load(10, 2, 1).client(listener.local_addr().unwrap());
    let failure = client
        .run_at_a_rate(vec![MS, MS, 2 * MS], 500 * MS, 30 * MS)
        .unwrap_err();
    assert_eq!(
        failure.to_string(),
        "worker 0: only 0 of 10 bytes had come back when time was up"
    );
}
