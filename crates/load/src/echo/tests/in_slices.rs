//! Slices of the client: what counts of each, and what a slice leaves to the next.

use super::{PER_READ, TIMEOUT_NS, counted_while_serving, load, settings, while_serving};
use crate::{
    echo::client::{Goal, RoundTrips},
    schedule::Slices,
};
use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
    time::Duration,
};
use tinygram_net::clock::monotonic_ns;

const MS: u64 = 1_000_000;

#[test]
fn the_middle_of_a_slice_counts_and_its_end_leaves_nothing_in_flight() {
    let (slice_ns, settling_ns, open_ns) = (10_000_000, 2_000_000, 8_000_000);
    let begins_ns = (0..40).map(|slice| slice * 30_000_000).collect();
    let slices = Slices::new(begins_ns, slice_ns).unwrap();
    while_serving(&settings(PER_READ, 4096), |address| {
        let mut client = load(100, 3, 4).client(address);
        client.run(Goal::Messages(24), TIMEOUT_NS).unwrap();
        let start_ns = monotonic_ns() + 5_000_000;
        let turns = client
            .run_in_slices(&slices, settling_ns, open_ns, start_ns, TIMEOUT_NS)
            .unwrap();
        assert_eq!(turns.len(), slices.count());
        // A busy host may sleep through some, in which nothing is sent, and hardly through all.
        assert!(turns.iter().any(|turn| turn.measured.messages > 0));
        for (slice, turn) in turns.iter().enumerate() {
            let found = &turn.measured;
            assert!(found.start_ns >= start_ns + slices.begin_ns(slice) + settling_ns);
            assert!(found.end_ns >= start_ns + slices.begin_ns(slice) + open_ns);
            assert!(turn.last_ns >= found.end_ns);
            // What settles, and what is in flight at the end, does not count.
            assert!(turn.all_messages > found.messages || turn.all_messages == 0);
            assert_eq!(found.messages_of.iter().sum::<u64>(), found.messages);
            // Round trips are of those begun meanwhile, messages of those that came back.
            assert!(found.round_trips.count().abs_diff(found.messages) <= 12);
            assert!(found.in_flight_ns <= 12 * (found.end_ns - found.start_ns));
        }
        let next = client.run(Goal::Messages(12), TIMEOUT_NS).unwrap();
        assert_eq!((next.all_messages, next.measured.messages), (12, 12));
        client.finish(Duration::from_secs(5)).unwrap();
    });
}

#[test]
fn a_slice_that_was_slept_through_sends_nothing_in_the_turn_of_another() {
    let slices = Slices::new(vec![0, 20_000_000], 10_000_000).unwrap();
    let (turns, counts) = counted_while_serving(&settings(PER_READ, 4096), |address| {
        let mut client = load(100, 3, 4).client(address);
        let start_ns = monotonic_ns() - 1_000_000_000;
        client.run_in_slices(&slices, 0, 8_000_000, start_ns, TIMEOUT_NS)
    });
    let sent = turns.unwrap().iter().map(|turn| turn.all_messages).sum();
    assert_eq!((0, 3), (sent, counts.accepted));
}

/// Send back what comes, each time after the next of these rests, and at once when there is none.
pub fn echo_after(mut stream: TcpStream, rests: &[Duration]) {
    let mut rests = rests.iter();
    let mut buffer = [0; 1 << 12];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        thread::sleep(rests.next().copied().unwrap_or_default());
        stream.write_all(&buffer[..count]).unwrap();
    }
}

#[test]
fn a_round_trip_that_outlasts_its_slice_counts_though_others_have_stopped() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let rests = [400, 1_500].map(Duration::from_millis);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (slow, _) = listener.accept().unwrap();
            scope.spawn(|| echo_after(slow, &rests));
            echo_after(listener.accept().unwrap().0, &[]);
        });
        let mut client = load(100, 2, 1).client(address);
        let slices = Slices::new(vec![0], 1_200 * MS).unwrap();
        // The first one of the slow worker begins while the slice settles, and the second in it.
        let turns = client
            .run_in_slices(&slices, 200 * MS, 1_000 * MS, monotonic_ns(), TIMEOUT_NS)
            .unwrap();
        let RoundTrips::Each(values_ns) = &turns[0].measured.round_trips else {
            panic!("of a slice they are one by one");
        };
        let long = values_ns.iter().filter(|&&value_ns| value_ns >= 1_000 * MS);
        assert_eq!(long.count(), 1);
        assert!(values_ns.iter().max() >= Some(&(1_500 * MS)));
        drop(client);
    });
}

#[test]
fn a_server_that_does_not_answer_in_its_slice_is_named_when_time_is_up() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut client = load(10, 1, 1).client(listener.local_addr().unwrap());
    // Long enough for the client to send in it, however busy the machine is.
    let slices = Slices::new(vec![0], 1_000_000_000).unwrap();
    let failure = client
        .run_in_slices(&slices, 0, 900_000_000, monotonic_ns(), 30_000_000)
        .unwrap_err();
    assert_eq!(
        failure.to_string(),
        "worker 0: only 0 of 10 bytes had come back when time was up"
    );
}
