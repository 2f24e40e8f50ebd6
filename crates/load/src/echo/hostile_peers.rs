//! Peers that the server knows nothing of: garbage, half messages, silence, and no appetite. They
//! cost bounded memory and stop nobody else from being served.

use super::{
    reply::Reply,
    server::Settings,
    tests::{counted_while_serving, while_serving},
};
use crate::socket::{FRESH_PORT, admission::Admission};
use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};
use tinygram_core::{Knobs, Strategy};

const PATIENCE: Duration = Duration::from_secs(60);

fn per_message(message_bytes: usize) -> Settings {
    Settings {
        address: FRESH_PORT,
        reply: Reply::PerMessage {
            message_bytes,
            knobs: Knobs::new(Strategy::Adaptive),
        },
        buffer_bytes: 1 << 16,
        congestion_control: None,
        client: Admission::default(),
        max_connections: Some(50),
    }
}

fn connect(server: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn check_served(server: SocketAddr) {
    let mut stream = connect(server);
    for message in [b"first ....", b"and then 2"] {
        stream.write_all(message).unwrap();
        let mut back = [0; 10];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(&back, message);
    }
}

#[test]
fn garbage_and_half_messages_come_back_at_the_end_of_the_peers_stream() {
    while_serving(&per_message(10), |server| {
        let garbage: Vec<u8> = (0..=255).cycle().take(99_999).collect();
        let mut stream = connect(server);
        let mut sending = stream.try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sending.write_all(&garbage).unwrap();
                sending.shutdown(Shutdown::Write).unwrap();
            });
            let mut back = Vec::new();
            stream.read_to_end(&mut back).unwrap();
            assert_eq!(back, garbage);
        });
        check_served(server);
    });
}

#[test]
fn one_who_sends_byte_after_byte_is_served_and_so_are_others() {
    while_serving(&per_message(10), |server| {
        let mut slow = connect(server);
        for byte in b"0123456789" {
            slow.write_all(&[*byte]).unwrap();
            check_served(server);
        }
        let mut back = [0; 10];
        slow.read_exact(&mut back).unwrap();
        assert_eq!(&back, b"0123456789");
    });
}

#[test]
fn silent_connections_stop_nobody() {
    let ((), counts) = counted_while_serving(&per_message(10), |server| {
        let silent: Vec<TcpStream> = (0..120).map(|_| connect(server)).collect();
        check_served(server);
        // The first connections were ended for the last ones: no more than 50 are kept.
        let mut first = &silent[0];
        assert_eq!(first.read(&mut [0]).unwrap(), 0);
    });
    assert_eq!((counts.accepted, counts.most_connections), (121, 50));
    assert_eq!(counts.evicted_connections, 121 - 50);
}

#[test]
fn one_who_talks_is_kept_while_silent_ones_come() {
    while_serving(&per_message(10), |server| {
        let mut talking = connect(server);
        let mut silent = Vec::new();
        for _ in 0..120 {
            silent.push(connect(server));
            talking.write_all(b"0123456789").unwrap();
            let mut back = [0; 10];
            talking.read_exact(&mut back).unwrap();
        }
    });
}

#[test]
fn one_who_reads_nothing_is_not_read_from_any_more() {
    while_serving(&per_message(10), |server| {
        let mut greedy = connect(server);
        greedy.set_nonblocking(true).unwrap();
        let mut sent = 0;
        let mut idle = 0;
        // Until the kernel's buffers are full in both directions, and stay so.
        while idle < 20 {
            match greedy.write(&[7; 1 << 16]) {
                Ok(count) => {
                    sent += count;
                    idle = 0;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    idle += 1;
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(error) => panic!("{error}"),
            }
            assert!(sent < 1 << 30, "the server takes whatever comes");
        }
        check_served(server);
        // The server still sends back what it took.
        greedy.set_nonblocking(false).unwrap();
        let mut left = sent / 10 * 10;
        let mut buffer = vec![0; 1 << 16];
        while left > 0 {
            let count = greedy.read(&mut buffer).unwrap();
            assert!(count > 0 && buffer[..count].iter().all(|&byte| byte == 7));
            left -= count;
        }
    });
}

#[test]
fn a_reset_ends_its_own_connection_alone() {
    while_serving(&per_message(10), |server| {
        for _ in 0..20 {
            let mut stream = connect(server);
            stream.write_all(&[1; 5_000]).unwrap();
            // With replies unread, this is a reset.
            drop(stream);
        }
        check_served(server);
    });
}
