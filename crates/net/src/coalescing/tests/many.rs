//! Many messages at one go: the same as one after the other, and it is known how many were taken.

use super::*;
use std::iter;
use tinygram_core::Reason;

#[test]
fn lists_of_many_threads_arrive_whole_and_in_each_thread_s_order() {
    for strategy in STRATEGIES {
        let (ours, peer) = pair();
        let mut knobs = Knobs::new(strategy);
        // Less than the bytes of all lists, so that some meet a full batch, and some find no room.
        knobs.max_bytes = 5_000;
        knobs.max_buffered_bytes = Some(20_000);
        let socket = CoalescingSocket::new(&ours, knobs).unwrap();
        let reading = thread::spawn(move || check_stream(peer, 3, 4099));
        thread::scope(|scope| {
            for sender in 0..3 {
                let socket = &socket;
                scope.spawn(move || send_lists(socket, sender));
            }
        });
        socket.close(LONG).unwrap();
        assert_eq!(reading.join().unwrap(), [2_000; 3], "{strategy:?}");
    }
}

/// Send 2,000 messages, 64 at a time, and wait where there is no room.
fn send_lists(socket: &CoalescingSocket, sender: u32) {
    let messages: Vec<_> = (0..2_000).map(|number| message(sender, number)).collect();
    for list in messages.chunks(64) {
        let mut at = 0;
        while at < list.len() {
            let (taken, sent) = socket.send_many(list[at..].iter().map(Vec::as_slice));
            at += taken;
            match sent {
                Ok(()) => assert_eq!(at, list.len()),
                Err(SendError::NoRoom { .. }) => {
                    assert!(socket.wait_room(list[at].len(), LONG));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn those_before_the_first_without_room_are_taken() {
    let (ours, mut peer) = pair();
    let mut knobs = Knobs::new(Strategy::Coalesce { hold: LONG });
    knobs.max_buffered_bytes = Some(1_000);
    let socket = CoalescingSocket::new(&ours, knobs).unwrap();
    let list = [[1; 300], [2; 300], [3; 300], [4; 300], [5; 300]];
    let (taken, sent) = socket.send_many(list.iter().map(|message| &message[..]));
    assert_eq!(
        (taken, sent),
        (3, Err(SendError::NoRoom { held_bytes: 900 }))
    );
    socket.close(LONG).unwrap();
    let mut all = Vec::new();
    peer.read_to_end(&mut all).unwrap();
    assert_eq!(all, list[..3].concat());
}

#[test]
fn none_is_taken_by_a_closed_socket() {
    let (ours, _peer) = pair();
    let socket = CoalescingSocket::new(&ours, Knobs::default()).unwrap();
    socket.refuse_more();
    let late = socket.send_many([&b"one"[..], b"two"]);
    assert_eq!(late, (0, Err(SendError::Closed)));
    assert_eq!(socket.send_many(iter::empty()), (0, Ok(())));
}

#[test]
fn a_failure_counts_the_bytes_of_those_that_were_taken() {
    let (ours, peer) = pair();
    let socket = CoalescingSocket::new(&ours, Knobs::new(Strategy::NoDelay)).unwrap();
    drop(peer); // What is sent to it from now on is answered by a reset.
    let mut all = 0;
    let failure = loop {
        let (taken, sent) = socket.send_many(iter::repeat_n(&b"1234"[..], 3));
        all += taken;
        match sent {
            Ok(()) => assert_eq!(taken, 3),
            Err(SendError::Failed(failure)) => break failure,
            Err(error) => panic!("{error}"),
        }
    };
    let told = failure.acknowledged_bytes + failure.unknown_bytes + failure.unsent_bytes;
    assert_eq!(told, 4 * all as u64);
    let again = socket.send_many([&b"late"[..]]);
    assert_eq!(again, (0, Err(SendError::Failed(failure))));
}

#[test]
fn a_batch_that_fills_up_is_written_by_who_filled_it() {
    let (ours, mut peer) = pair();
    let mut knobs = Knobs::new(Strategy::Coalesce { hold: LONG });
    knobs.max_bytes = 1_000;
    let socket = CoalescingSocket::new(&ours, knobs).unwrap();
    socket
        .send_many(iter::repeat_n(&[7; 100][..], 25))
        .1
        .unwrap();
    // The writing thread, which comes when a hold ends, has not come.
    assert_eq!((socket.stats().writes, socket.held_bytes()), (2, 500));
    assert_eq!(socket.stats().flushes(Reason::Full), 2);
    for _ in 0..5 {
        socket.send(&[7; 100]).unwrap();
    }
    assert_eq!((socket.stats().writes, socket.held_bytes()), (3, 0));
    socket.close(LONG).unwrap();
    let mut all = Vec::new();
    peer.read_to_end(&mut all).unwrap();
    assert_eq!(all, [7; 3_000]);
}

#[test]
fn a_peer_that_takes_nothing_leaves_the_writing_thread_the_rest_of_a_full_batch() {
    let (ours, mut peer) = pair();
    let mut knobs = Knobs::new(Strategy::Coalesce { hold: LONG });
    knobs.max_bytes = 100_000;
    knobs.max_buffered_bytes = Some(1_000_000);
    let socket = CoalescingSocket::new(&ours, knobs).unwrap();
    let mut sent = 0;
    let refused = loop {
        match socket.send(&[7; 10_000]) {
            Ok(()) => sent += 10_000,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, SendError::NoRoom { .. }), "{refused}");
    let reading = thread::spawn(move || {
        let mut all = Vec::new();
        peer.read_to_end(&mut all).unwrap();
        all.len()
    });
    socket.close(LONG).unwrap();
    assert_eq!(reading.join().unwrap(), sent);
}
