//! However many threads make their first send at once, one thread writes for all of them. This test
//! has a process of its own, because a writing thread never ends.

use std::{
    fs,
    io::Read,
    net::{TcpListener, TcpStream},
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};
use tinygram_net::{CoalescingSocket, Knobs, Strategy};

const SENDERS: usize = 16;

#[test]
fn threads_that_send_first_at_once_start_one_writing_thread() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let barrier = &Barrier::new(SENDERS);
    let mut peers = Vec::new();
    let ours: Vec<_> = (0..SENDERS)
        .map(|_| {
            let stream = TcpStream::connect(address).unwrap();
            peers.push(listener.accept().unwrap().0);
            stream
        })
        .collect();
    let hold = Duration::from_millis(1);
    thread::scope(|scope| {
        for stream in &ours {
            scope.spawn(move || {
                let knobs = Knobs::new(Strategy::Coalesce { hold });
                let socket = CoalescingSocket::new(stream, knobs).unwrap();
                barrier.wait();
                socket.send(b"held").unwrap();
                socket.flush(Duration::from_secs(60)).unwrap();
            });
        }
    });
    for mut peer in peers {
        peer.read_exact(&mut [0; 4]).unwrap();
    }
    // A thread whose writer was not published has ended, but may still be listed.
    let give_up = Instant::now() + Duration::from_secs(60);
    while writing_threads() != 1 && Instant::now() < give_up {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(writing_threads(), 1);
}

fn writing_threads() -> usize {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok())
        .filter(|name| name == "tinygram-writer\n")
        .count()
}
