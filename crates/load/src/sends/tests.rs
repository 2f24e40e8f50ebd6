use super::*;
use std::{
    io::Read,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::fd::AsRawFd,
    thread,
    time::Duration,
};

const PATIENCE_NS: u64 = 10_000_000_000;

/// By send calls, and by io_uring where that is permitted.
fn kinds() -> impl Iterator<Item = bool> {
    [false, true]
        .into_iter()
        .filter(|is_ring| !is_ring || ring::check().is_ok())
}

fn connected(count: usize) -> (Vec<TcpStream>, Vec<TcpStream>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (0..count)
        .map(|_| {
            let near = TcpStream::connect(address).unwrap();
            (near, listener.accept().unwrap().0)
        })
        .unzip()
}

fn fds_of(streams: &[TcpStream]) -> Vec<RawFd> {
    streams.iter().map(AsRawFd::as_raw_fd).collect()
}

/// Messages of 1 MB, which no socket takes at one go, to a peer that reads late and another that reads
/// at once: all bytes come, in order.
#[test]
fn what_a_slow_peer_does_not_take_comes_later_and_in_order() {
    for is_ring in kinds() {
        let (near, far) = connected(2);
        let mut sends = over(fds_of(&near), is_ring).unwrap();
        let messages: Vec<Arc<[u8]>> = (0..8u8).map(|each| vec![each; 1 << 20].into()).collect();
        for message in &messages {
            for connection in 0..2 {
                sends.hand(connection, message).unwrap();
            }
            sends.flush().unwrap();
        }
        assert!(sends.waiting_bytes() > 0);
        let waiting = sends.most_waiting();
        assert_eq!(waiting.all_bytes, sends.waiting_bytes());
        assert!(waiting.bytes <= waiting.all_bytes);
        let reading: Vec<_> = far
            .into_iter()
            .enumerate()
            .map(|(each, mut stream)| {
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(50 * each as u64));
                    let mut found = Vec::new();
                    stream.read_to_end(&mut found).unwrap();
                    found
                })
            })
            .collect();
        hand_over(&mut *sends, PATIENCE_NS).unwrap();
        assert_eq!(sends.waiting_bytes(), 0);
        drop((sends, near));
        let expected: Vec<u8> = messages.iter().flat_map(|each| each.to_vec()).collect();
        for found in reading {
            assert!(found.join().unwrap() == expected);
        }
    }
}

#[test]
fn a_peer_that_takes_nothing_is_named_when_patience_is_over() {
    for is_ring in kinds() {
        let (near, _far) = connected(3);
        let mut sends = over(fds_of(&near), is_ring).unwrap();
        let message: Arc<[u8]> = vec![7; 16 << 20].into();
        sends.hand(1, &message).unwrap();
        sends.flush().unwrap();
        let error = hand_over(&mut *sends, 200_000_000).unwrap_err();
        assert!(matches!(
            &error,
            SendError::Behind(Waiting { connection: 1, .. })
        ));
        let told = error.told("subscriber");
        assert!(
            told.starts_with("subscriber 1 does not keep up: "),
            "{told}"
        );
    }
}

/// A message that the kernel still sends stays in memory when the sends are dropped (see `ByRing::drop`).
#[test]
fn sends_can_be_dropped_while_the_kernel_sends() {
    for is_ring in kinds() {
        let (near, mut far) = connected(1);
        let mut sends = over(fds_of(&near), is_ring).unwrap();
        let message: Arc<[u8]> = vec![7; 16 << 20].into();
        sends.hand(0, &message).unwrap();
        sends.flush().unwrap();
        assert!(sends.waiting_bytes() > 0);
        drop((sends, message));
        drop(near);
        let mut found = Vec::new();
        // The kernel ends the send that was under way, or goes on with it: what comes is right.
        let _reset = far[0].read_to_end(&mut found);
        assert!(found.iter().all(|byte| *byte == 7));
    }
}
