mod holds;
mod many;

use super::*;
use crate::{
    clock::{after_ns, monotonic_ns},
    socket::{send_queue_bytes, wait_writable},
};
use std::{
    fmt::Debug,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

const STRATEGIES: [Strategy; 6] = [
    Strategy::NoDelay,
    Strategy::Nagle,
    Strategy::Combine,
    Strategy::Coalesce {
        hold: Duration::from_micros(100),
    },
    Strategy::Competitive {
        price: Duration::from_micros(100),
    },
    Strategy::Adaptive,
];

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (ours, listener.accept().unwrap().0)
}

/// With these knobs, held messages leave for another reason than the end of their hold.
fn held_for_an_hour() -> Knobs {
    Knobs::new(Strategy::Coalesce {
        hold: Duration::from_secs(3600),
    })
}

/// A time longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// Wait until `is_so` holds for the value of `seen`. Panics after `LONG`, with the last value.
fn wait_until<T: Debug>(what: &str, seen: impl Fn() -> T, is_so: impl Fn(&T) -> bool) {
    let give_up_ns = after_ns(LONG);
    let mut state = seen();
    while !is_so(&state) {
        assert!(monotonic_ns() < give_up_ns, "{what}: {state:?}");
        thread::sleep(Duration::from_millis(1));
        state = seen();
    }
}

fn send_waiting(socket: &CoalescingSocket, message: &[u8]) {
    socket.send_timeout(message, LONG).unwrap();
}

/// A message that contains its sender, its number and its length, and is filled with its number.
fn message(sender: u32, number: u32) -> Vec<u8> {
    let length = 12 + (number * 7 + sender) % 300;
    let mut bytes = [sender, number, length].map(u32::to_ne_bytes).concat();
    bytes.resize(length as usize, number as u8);
    bytes
}

/// Read messages until the end, all whole and in order. Returns how many came of each sender.
fn check_stream(mut peer: TcpStream, senders: usize, most_per_read: usize) -> Vec<u32> {
    let mut next = vec![0; senders];
    let mut bytes = Vec::new();
    let mut piece = vec![0; most_per_read];
    loop {
        let count = peer.read(&mut piece).unwrap();
        bytes.extend_from_slice(&piece[..count]);
        let mut at = 0;
        while let Some(head) = bytes[at..].first_chunk::<12>() {
            let word = |i: usize| u32::from_ne_bytes(head[i..i + 4].try_into().unwrap());
            let Some(whole) = bytes.get(at..at + word(8) as usize) else {
                break;
            };
            assert_eq!(whole, message(word(0), word(4)));
            assert_eq!(next[word(0) as usize], word(4));
            next[word(0) as usize] += 1;
            at += whole.len();
        }
        bytes.drain(..at);
        if count == 0 {
            assert!(bytes.is_empty());
            return next;
        }
    }
}

#[test]
fn many_threads_and_a_slow_reader_every_byte_once_and_in_order() {
    const SENDERS: u32 = 8;
    const MESSAGES: u32 = 5_000;
    for strategy in STRATEGIES {
        let (ours, peer) = pair();
        let mut knobs = Knobs::new(strategy);
        knobs.max_buffered_bytes = Some(20_000);
        let socket = CoalescingSocket::new(&ours, knobs).unwrap();
        let reading = thread::spawn(move || check_stream(peer, SENDERS as usize, 1009));
        thread::scope(|scope| {
            for sender in 0..SENDERS {
                let socket = &socket;
                scope.spawn(move || {
                    for number in 0..MESSAGES {
                        send_waiting(socket, &message(sender, number));
                    }
                });
            }
        });
        socket.close(LONG).unwrap();
        let stats = socket.stats();
        assert_eq!(stats.messages, u64::from(SENDERS * MESSAGES));
        drop((socket, ours));
        assert_eq!(reading.join().unwrap(), [MESSAGES; SENDERS as usize]);
    }
}

#[test]
fn where_there_is_no_room_nobody_waits_for_a_time() {
    let (ours, mut peer) = pair();
    let mut knobs = held_for_an_hour();
    knobs.max_buffered_bytes = Some(100);
    let socket = CoalescingSocket::new(&ours, knobs).unwrap();
    socket.send(&[1; 80]).unwrap();
    let refused = socket.send(&[2; 80]);
    assert_eq!(refused, Err(SendError::NoRoom { held_bytes: 80 }));
    assert!(socket.wait_room(80, LONG));
    socket.send(&[2; 80]).unwrap();
    peer.read_exact(&mut [0; 80]).unwrap();
    socket.close(LONG).unwrap();
}

#[test]
fn a_full_batch_does_not_wait_and_neither_does_a_flush() {
    let (ours, mut peer) = pair();
    let mut knobs = held_for_an_hour();
    knobs.max_bytes = 100;
    let socket = CoalescingSocket::new(&ours, knobs).unwrap();
    for _ in 0..4 {
        socket.send(&[1; 25]).unwrap();
    }
    peer.read_exact(&mut [0; 100]).unwrap();
    socket.send(b"rest").unwrap();
    socket.flush(LONG).unwrap();
    peer.read_exact(&mut [0; 4]).unwrap();
}

#[test]
fn idle_connections_write_at_once_and_hold_nothing() {
    let (ours, mut peer) = pair();
    let socket = CoalescingSocket::new(&ours, Knobs::new(Strategy::Adaptive)).unwrap();
    for _ in 0..5 {
        thread::sleep(Duration::from_millis(1));
        socket.send(b"ping").unwrap();
        assert_eq!(socket.held_bytes(), 0);
        peer.read_exact(&mut [0; 4]).unwrap();
    }
    assert_eq!(socket.stats().writes, 5);
}

#[test]
fn a_stalled_peer_bounds_what_is_held() {
    for strategy in STRATEGIES {
        let (ours, mut peer) = pair();
        let mut knobs = Knobs::new(strategy);
        knobs.max_buffered_bytes = Some(10_000);
        let socket = CoalescingSocket::new(&ours, knobs).unwrap();
        let mut sent = 0;
        let unsent_bytes = loop {
            match socket.send(&[7; 1000]) {
                Ok(()) => sent += 1000,
                Err(SendError::NoRoom { held_bytes }) => {
                    assert!((9_001..=10_000).contains(&held_bytes));
                    if socket.wait_room(1000, Duration::from_millis(100)) {
                        continue;
                    }
                    // TCP tries again and again whether the peer has room, and may find a little.
                    match socket.flush(Duration::from_millis(1)) {
                        Ok(()) => {}
                        Err(FlushError::TimedOut { unsent_bytes, .. }) => break unsent_bytes,
                        Err(error) => panic!("{error}"),
                    }
                }
                Err(error) => panic!("{error}"),
            }
        };
        assert!(unsent_bytes <= 10_000);
        let mut received = vec![0; sent];
        peer.read_exact(&mut received).unwrap();
        socket.close(LONG).unwrap();
        assert_eq!(peer.read(&mut [0; 1]).unwrap(), 0);
    }
}

#[test]
fn a_reset_tells_what_arrived_and_what_did_not() {
    for strategy in STRATEGIES {
        let (ours, mut peer) = pair();
        (&ours).write_all(b"before us").unwrap();
        let socket = CoalescingSocket::new(&ours, Knobs::new(strategy)).unwrap();
        send_waiting(&socket, &[1; 1000]);
        socket.flush(LONG).unwrap();
        peer.read_exact(&mut [0; 1009]).unwrap();
        // Until the peer's kernel has said so, too.
        let queued_bytes = || send_queue_bytes(ours.as_raw_fd()).unwrap();
        wait_until("not acknowledged", queued_bytes, |&bytes| bytes == 0);
        send_waiting(&socket, &[2; 10]);
        socket.flush(LONG).unwrap();
        drop(peer); // unread bytes: a reset
        let send = || socket.send(&[3; 100]);
        wait_until("no reset came", send, Result::is_err);
        let Err(SendError::Failed(failure)) = send() else {
            panic!("what failed takes more");
        };
        assert!([ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].contains(&failure.kind()));
        assert!(
            (1000..=1010).contains(&failure.acknowledged_bytes),
            "{failure}"
        );
        assert!(failure.unsent_bytes >= 100);
        assert_eq!(
            socket.send(b"more"),
            Err(SendError::Failed(failure.clone()))
        );
        assert_eq!(socket.flush(LONG), Err(FlushError::Failed(failure.clone())));
        assert_eq!(socket.failure(), Some(failure));
    }
}

#[test]
fn a_closed_socket_takes_nothing_and_has_delivered_everything() {
    let (ours, mut peer) = pair();
    let socket = CoalescingSocket::new(&ours, Knobs::new(Strategy::Combine)).unwrap();
    send_waiting(&socket, &vec![5; 3 << 20]);
    let reading = thread::spawn(move || {
        let mut all = Vec::new();
        peer.read_to_end(&mut all).unwrap();
        all.len()
    });
    socket.close(LONG).unwrap();
    assert_eq!(socket.send(b"late"), Err(SendError::Closed));
    assert_eq!(reading.join().unwrap(), 3 << 20);
}

#[test]
fn close_gives_up_in_time_and_says_what_is_missing() {
    let (ours, peer) = pair();
    let socket = CoalescingSocket::new(&ours, Knobs::new(Strategy::Combine)).unwrap();
    send_waiting(&socket, &vec![5; 64 << 20]);
    // Until the writing thread has come, and filled our kernel's buffer as well as the peer's.
    let has_room = || wait_writable(ours.as_raw_fd(), Some(0)).unwrap();
    wait_until("our kernel has room", has_room, |has_room| !has_room);
    let late = socket.close(Duration::from_millis(30));
    let Err(FlushError::TimedOut {
        unsent_bytes,
        unknown_bytes,
    }) = late
    else {
        panic!("{late:?}");
    };
    assert!(unsent_bytes > 0 && unknown_bytes > 0);
    assert_eq!(socket.held_bytes(), 0);
    drop(peer);
}

#[test]
fn a_socket_that_is_dropped_still_sends_what_it_held() {
    let (ours, mut peer) = pair();
    let knobs = Knobs::new(Strategy::Coalesce {
        hold: Duration::from_millis(2),
    });
    let socket = CoalescingSocket::new(&ours, knobs).unwrap();
    socket.send(b"the last byte").unwrap();
    drop((socket, ours));
    let mut all = Vec::new();
    peer.read_to_end(&mut all).unwrap();
    assert_eq!(all, b"the last byte");
}

#[test]
fn a_wait_without_end_ends_when_there_is_room() {
    let (socket, mut peer) = stalled();
    let reading = thread::spawn(move || {
        let mut all = Vec::new();
        peer.read_to_end(&mut all).unwrap();
        all.len()
    });
    let last = socket.send_timeout(&[0; 1000], Duration::from_millis(0));
    assert!(matches!(last, Err(SendError::NoRoom { .. })) || last.is_ok());
    socket.send_timeout(&[0; 1000], Duration::MAX).unwrap();
    socket.close(Duration::MAX).unwrap();
    assert!(reading.join().unwrap() >= (64 << 20) + 1000);
}

#[test]
fn knobs_outside_their_ranges_are_refused() {
    let (ours, _peer) = pair();
    let mut knobs = Knobs::default();
    knobs.max_buffered_bytes = Some(0);
    let error = CoalescingSocket::new(&ours, knobs).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(
        error.downcast::<KnobError>().unwrap(),
        KnobError::MaxBufferedBytes
    );
}

#[test]
fn tick_is_no_strategy_of_threads() {
    let (ours, _peer) = pair();
    let error = CoalescingSocket::new(&ours, Knobs::new(Strategy::Tick)).unwrap_err();
    assert!(error.to_string().contains("combine"));
}

/// A socket that holds as much as it may, and its peer, which takes nothing more.
fn stalled() -> (CoalescingSocket, TcpStream) {
    let (ours, peer) = pair();
    let mut knobs = Knobs::new(Strategy::Combine);
    knobs.max_buffered_bytes = Some(1_000_000);
    let socket = CoalescingSocket::new(&ours, knobs).unwrap();
    send_waiting(&socket, &vec![0; 64 << 20]);
    (socket, peer)
}

#[test]
fn who_waits_for_room_or_for_the_kernel_learns_of_an_abort() {
    let (socket, _peer) = stalled();
    thread::scope(|scope| {
        let flushing = scope.spawn(|| socket.flush(LONG));
        let waiting = scope.spawn(|| socket.wait_room(1, LONG));
        let threads = || socket.connection().waiting();
        wait_until("threads that wait", threads, |&count| count >= 2);
        let aborted_bytes = socket.abort() as u64;
        assert!(waiting.join().unwrap());
        let Err(FlushError::Failed(failure)) = flushing.join().unwrap() else {
            panic!("the flush does not tell of the abort");
        };
        assert_eq!(failure.errno, libc::ECONNABORTED);
        // What was just under way may have left.
        assert!(aborted_bytes > 0 && failure.unsent_bytes <= aborted_bytes);
        let told_bytes = failure.acknowledged_bytes + failure.unknown_bytes + failure.unsent_bytes;
        assert_eq!(told_bytes, 64 << 20);
    });
    assert!(matches!(socket.send(b"late"), Err(SendError::Failed(_))));
}

#[test]
fn a_close_ends_the_wait_for_room() {
    let (socket, _peer) = stalled();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| socket.wait_room(1, LONG));
        let threads = || socket.connection().waiting();
        wait_until("threads that wait", threads, |&count| count >= 1);
        socket.refuse_more();
        assert!(waiting.join().unwrap());
    });
    assert_eq!(socket.send(b"late"), Err(SendError::Closed));
    assert!(socket.abort() > 0);
}
