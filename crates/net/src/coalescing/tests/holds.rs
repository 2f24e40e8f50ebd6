//! Held messages leave when their hold ends, and not before.

use super::*;

#[test]
fn what_is_held_leaves_when_its_hold_ends() {
    let (ours, mut peer) = pair();
    let knobs = Knobs::new(Strategy::Coalesce {
        hold: Duration::from_millis(3),
    });
    let socket = CoalescingSocket::new(&ours, knobs).unwrap();
    for round in 1..=3 {
        // Only one message: if the host stops us, its hold may end before a second one is sent.
        socket.send(b"held").unwrap();
        let mut bytes = [0; 4];
        peer.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"held");
        // The peer may have the bytes before the writing thread has counted them.
        wait_until("writes", || socket.stats().writes, |&count| count >= round);
        assert!(socket.stats().holds().min_ns() >= 2_700_000);
    }
}

#[test]
fn what_is_held_stays_until_its_hold_ends_and_leaves_in_one_write() {
    let (ours, mut peer) = pair();
    let knobs = held_for_an_hour();
    let socket = CoalescingSocket::new(&ours, knobs).unwrap();
    socket.send(b"held ").unwrap();
    socket.send(b"back").unwrap();
    assert_eq!(socket.held_bytes(), 9);
    peer.set_nonblocking(true).unwrap();
    let nothing = peer.read(&mut [0; 9]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    socket.flush(LONG).unwrap();
    assert_eq!((socket.stats().messages, socket.stats().writes), (2, 1));
}

#[test]
fn what_follows_lets_the_held_leave_sooner() {
    let (ours, mut peer) = pair();
    let knobs = Knobs::of_threads(Strategy::Competitive {
        price: Duration::from_secs(600),
    });
    let socket = CoalescingSocket::new(&ours, knobs).unwrap();
    socket.send(b"h").unwrap();
    // The writing thread has come, and would come again in ten minutes.
    thread::sleep(Duration::from_millis(20));
    assert_eq!((socket.held_bytes(), socket.stats().writes), (1, 0));
    for _ in 1..60_000 {
        socket.send(b"h").unwrap();
    }
    // With so many messages, ten minutes are 10 ms for each of them.
    peer.set_read_timeout(Some(LONG)).unwrap();
    peer.read_exact(&mut vec![0; 60_000]).unwrap();
    wait_until("writes", || socket.stats().writes, |&count| count > 0);
    assert!(socket.stats().flushes(crate::Reason::Deadline) > 0);
}

#[test]
fn while_somebody_waits_for_room_nothing_is_held_whoever_sends_it() {
    let (ours, mut peer) = pair();
    let mut knobs = held_for_an_hour();
    knobs.max_buffered_bytes = Some(100);
    let socket = CoalescingSocket::new(&ours, knobs).unwrap();
    // Nobody was refused: it is another sender's message that takes the room.
    socket.send(&[1; 80]).unwrap();
    assert!(socket.wait_room(80, LONG));
    peer.read_exact(&mut [0; 80]).unwrap();
    // Afterwards messages are held again.
    socket.send(&[2; 80]).unwrap();
    assert_eq!(socket.held_bytes(), 80);
}

#[test]
fn a_connection_that_failed_is_not_kept_until_its_hold_would_have_ended() {
    let (ours, peer) = pair();
    let mut knobs = held_for_an_hour();
    knobs.max_bytes = 100;
    let socket = CoalescingSocket::new(&ours, knobs).unwrap();
    drop(peer);
    wait_until(
        "failures",
        || {
            let held = socket.send(b"held");
            // The writing thread has come, and would come again in an hour.
            thread::sleep(Duration::from_millis(5));
            held.and_then(|()| socket.send(&[1; 100]))
        },
        Result::is_err,
    );
    let connection = Arc::downgrade(&socket.shared());
    drop(socket);
    wait_until("owners", || connection.strong_count(), |&count| count == 0);
}
