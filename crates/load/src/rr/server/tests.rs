//! What clients get of the server, and what hostile ones cannot take from the others.

use super::*;
use crate::socket::{FRESH_PORT, admission::Admission};
use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown},
    os::unix::net::UnixStream,
    thread::{self, JoinHandle},
    time::Duration,
};

const REQUEST_BYTES: u64 = 1_000;

fn options() -> ServerOptions {
    ServerOptions {
        backlog: 1024,
        is_nodelay: true,
        is_quickack: false,
        max_connections: 4096,
        idle_ns: 60_000_000_000,
        congestion_control: "cubic".into(),
        client: Admission::default(),
    }
}

struct Running {
    port: u16,
    stop: UnixStream,
    thread: JoinHandle<io::Result<Counts>>,
}

impl Running {
    fn start(content: &CallContent, options: ServerOptions) -> Self {
        let server = Server::listen(FRESH_PORT, content.clone(), options).unwrap();
        let port = server.port().unwrap();
        let (stop, stopped) = UnixStream::pair().unwrap();
        let thread = thread::spawn(move || server.run(stopped.as_raw_fd()));
        Self { port, stop, thread }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }

    fn stop(self) -> Counts {
        drop(self.stop);
        self.thread.join().unwrap().unwrap()
    }
}

fn content(reply_bytes: u64) -> CallContent {
    CallContent::generate(1, REQUEST_BYTES, reply_bytes).unwrap()
}

fn call(stream: &mut TcpStream, content: &CallContent, index: u64) {
    stream.write_all(content.request(index)).unwrap();
    let mut reply = vec![0; content.reply_bytes() as usize];
    stream.read_exact(&mut reply).unwrap();
    assert!(content.is_reply(index * content.reply_bytes(), &reply));
}

/// The server has closed it, or will when it looks: whichever way that shows here.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    matches!(stream.read_to_end(&mut rest), Ok(0))
        || stream.take_error().is_ok_and(|error| error.is_some())
        || stream.peer_addr().is_err()
}

#[test]
fn every_request_gets_its_reply_in_order_however_it_is_cut() {
    for (reply_bytes, is_quickack) in [(2, false), (2, true), (10_000, false)] {
        let content = content(reply_bytes);
        let server = Running::start(
            &content,
            ServerOptions {
                is_quickack,
                ..options()
            },
        );
        let mut stream = server.connect();
        for index in 0..3 {
            call(&mut stream, &content, index);
        }
        // In pieces, then several at once.
        let (head, tail) = content.request(3).split_at(1);
        stream.write_all(head).unwrap();
        stream.write_all(tail).unwrap();
        let next: Vec<u8> = (4..9).flat_map(|i| content.request(i).to_vec()).collect();
        stream.write_all(&next).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut replies = Vec::new();
        stream.read_to_end(&mut replies).unwrap();
        assert_eq!(replies.len() as u64, 6 * reply_bytes);
        assert!(content.is_reply(3 * reply_bytes, &replies));
        let counts = server.stop();
        assert_eq!((counts.requests, counts.accepted), (9, 1));
        assert_eq!((counts.short_requests, counts.failed_connections), (0, 0));
    }
}

#[test]
fn the_rest_of_a_request_is_timed_from_its_first_part_on_and_the_first_request_is_not() {
    let content = content(2);
    let server = Running::start(&content, options());
    let mut stream = server.connect();
    let wait = Duration::from_millis(20);
    for index in 0..3 {
        let (head, tail) = content.request(index).split_at(1);
        stream.write_all(head).unwrap();
        // Meanwhile another one is served, so that the first part has been read.
        call(&mut server.connect(), &content, 0);
        thread::sleep(wait);
        stream.write_all(tail).unwrap();
        stream.read_exact(&mut [0; 2]).unwrap();
    }
    call(&mut stream, &content, 3);
    let counts = server.stop();
    assert_eq!((counts.requests, counts.split_requests), (7, 3));
    assert!(u128::from(counts.rest_ns) >= 3 * wait.as_nanos());

    // Alone, the first request of all is what a check withholds.
    let server = Running::start(&content, options());
    let mut stream = server.connect();
    let (head, tail) = content.request(0).split_at(1);
    stream.write_all(head).unwrap();
    thread::sleep(wait);
    stream.write_all(tail).unwrap();
    stream.read_exact(&mut [0; 2]).unwrap();
    let counts = server.stop();
    assert_eq!(
        (counts.requests, counts.split_requests, counts.rest_ns),
        (1, 0, 0)
    );
}

#[test]
fn garbage_half_requests_and_resets_end_their_own_connections_alone() {
    let content = content(2);
    let server = Running::start(&content, options());
    let mut honest = server.connect();
    call(&mut honest, &content, 0);
    let mut garbage = server.connect();
    garbage.write_all(&[0xff; 5_000]).unwrap();
    assert!(is_closed(&mut garbage));
    let mut half = server.connect();
    half.write_all(&content.request(0)[..10]).unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    assert!(is_closed(&mut half));
    call(&mut honest, &content, 1);
    let counts = server.stop();
    assert_eq!((counts.wrong_requests, counts.short_requests), (1, 1));
    assert_eq!(counts.requests, 2);
}

#[test]
fn a_client_that_takes_no_replies_is_owed_them_without_memory_and_others_are_served() {
    let content = content(1 << 20);
    let server = Running::start(&content, options());
    let mut greedy = server.connect();
    let many: Vec<u8> = (0..200).flat_map(|i| content.request(i).to_vec()).collect();
    greedy.write_all(&many).unwrap();
    let mut honest = server.connect();
    for index in 0..3 {
        call(&mut honest, &content, index);
    }
    // And when it takes them after all, they are right.
    let mut replies = vec![0; 1 << 20];
    for index in 0..20 {
        greedy.read_exact(&mut replies).unwrap();
        assert!(content.is_reply(index << 20, &replies));
    }
    drop(greedy);
    call(&mut honest, &content, 3);
    server.stop();
}

#[test]
fn silent_connections_make_room_for_those_that_ask() {
    let content = content(2);
    let server = Running::start(
        &content,
        ServerOptions {
            max_connections: 20,
            ..options()
        },
    );
    let mut honest = server.connect();
    call(&mut honest, &content, 0);
    let mut silent = Vec::new();
    for index in 1..=10 {
        silent.extend((0..10).map(|_| server.connect()));
        // Once the last of them is in, so is all before it.
        let mut last = server.connect();
        call(&mut last, &content, 0);
        call(&mut honest, &content, index);
        // The coarse clock then tells the next silent ones apart from this call.
        thread::sleep(Duration::from_millis(15));
    }
    let counts = server.stop();
    assert_eq!(counts.most_connections, 20);
    assert!(counts.evicted_connections >= 80, "{counts:?}");
}

#[test]
fn a_client_that_sends_a_byte_now_and_then_is_closed_and_the_busy_one_is_not() {
    let content = content(2);
    let server = Running::start(
        &content,
        ServerOptions {
            // Far longer than a busy machine keeps the honest client waiting.
            idle_ns: 4_000_000_000,
            ..options()
        },
    );
    let mut honest = server.connect();
    let mut slow = server.connect();
    let mut calls = 0;
    let request = content.request(0);
    // A byte each 10 ms: never silent for long, and never done.
    for byte in request.chunks(1) {
        if slow.write_all(byte).is_err() {
            break;
        }
        call(&mut honest, &content, calls);
        calls += 1;
        thread::sleep(Duration::from_millis(10));
    }
    assert!(calls < REQUEST_BYTES, "it was never closed");
    let counts = server.stop();
    assert_eq!((counts.idle_connections, counts.requests), (1, calls));
}

#[test]
fn options_that_cannot_be_had_are_errors() {
    let content = content(2);
    let taken = Server::listen(FRESH_PORT, content.clone(), options()).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, taken.port().unwrap()));
    assert!(Server::listen(address, content.clone(), options()).is_err());
    let congestion_control = "no-such-control".into();
    let wrong = ServerOptions {
        congestion_control,
        ..options()
    };
    assert!(Server::listen(FRESH_PORT, content, wrong).is_err());
}
