//! Client and server together, with each kind of reply, correct and faulty.

use super::{
    client::{ClientError, EchoClient, Exchange, Fault, Goal, Settings as ClientSettings},
    reply::Reply,
    server::{Counts, EchoServer, Settings},
};
use crate::{
    messages::{EchoError, MessagePool},
    socket::{FRESH_PORT, admission::Admission},
};
use std::{
    net::{Ipv4Addr, SocketAddr},
    os::{fd::AsRawFd, unix::net::UnixStream},
    thread,
    time::Duration,
};
use tinygram_core::{Knobs, Strategy};
use tinygram_net::clock::monotonic_ns;

mod at_a_rate;
mod encrypted;
mod in_slices;

const TIMEOUT_NS: u64 = 20_000_000_000;
const PER_READ: Reply = Reply::PerRead {
    is_whole_buffer: false,
};

fn settings(reply: Reply, buffer_bytes: usize) -> Settings {
    Settings {
        address: FRESH_PORT,
        reply,
        buffer_bytes,
        congestion_control: Some("cubic".into()),
        max_connections: None,
        client: Admission::default(),
    }
}

fn per_message(message_bytes: usize, strategy: Strategy) -> Reply {
    Reply::PerMessage {
        message_bytes,
        knobs: Knobs::new(strategy),
    }
}

/// Do something while a server runs.
pub fn while_serving<T>(settings: &Settings, act: impl FnOnce(SocketAddr) -> T) -> T {
    counted_while_serving(settings, act).0
}

/// The same, and what the server counted.
pub fn counted_while_serving<T>(
    settings: &Settings,
    act: impl FnOnce(SocketAddr) -> T,
) -> (T, Counts) {
    let mut server = EchoServer::listen(settings).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port().unwrap()));
    let (stop, stopper) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let serving = scope.spawn(move || {
            server.serve(Some(stop.as_raw_fd())).unwrap();
            server.counts()
        });
        // Dropped also when `act` panics, so that the scope ends.
        let stopper = stopper;
        let done = act(address);
        drop(stopper);
        (done, serving.join().unwrap())
    })
}

struct Load {
    pool: MessagePool,
    workers: usize,
    depth: u64,
    is_trusting: bool,
    is_polling: bool,
}

impl Load {
    fn client(&self, server: SocketAddr) -> EchoClient {
        EchoClient::connect(server, self.pool.clone(), &self.settings(), None).unwrap()
    }

    fn settings(&self) -> ClientSettings {
        ClientSettings {
            workers: self.workers,
            depth: self.depth,
            congestion_control: Some("cubic".into()),
            connect_timeout: Duration::from_secs(5),
            admission: Admission::default(),
            is_trusting: self.is_trusting,
            is_polling: self.is_polling,
        }
    }
}

fn pool(message_bytes: u64) -> MessagePool {
    MessagePool::generate(3, message_bytes, message_bytes).unwrap()
}

fn load(message_bytes: u64, workers: usize, depth: u64) -> Load {
    Load {
        pool: pool(message_bytes),
        workers,
        depth,
        is_trusting: false,
        is_polling: false,
    }
}

fn exchange(settings: &Settings, load: &Load, messages: u64) -> Result<Exchange, ClientError> {
    while_serving(settings, |address| {
        let mut client = load.client(address);
        // Like a measurement, warm up first on the same connections.
        client.run(Goal::Messages(7), TIMEOUT_NS)?;
        let turn = client.run(Goal::Messages(messages), TIMEOUT_NS)?;
        client.finish(Duration::from_secs(5))?;
        Ok(turn.measured)
    })
}

#[test]
fn every_byte_comes_back_in_each_way_of_replying() {
    let coalesce = Strategy::Coalesce {
        hold: Duration::from_micros(50),
    };
    for (size, messages) in [(1, 400), (100, 400), (1_000, 300), (65_536, 60)] {
        let pool = pool(size);
        let replies = [
            PER_READ,
            per_message(size as usize, Strategy::NoDelay),
            per_message(size as usize, Strategy::Nagle),
            per_message(size as usize, Strategy::Tick),
            per_message(size as usize, Strategy::Adaptive),
            per_message(size as usize, coalesce),
        ];
        for reply in replies {
            for (workers, depth, buffer_bytes) in [(1, 1, 1 << 16), (5, 1, 4096), (3, 64, 777)] {
                let load = Load {
                    pool: pool.clone(),
                    workers,
                    depth,
                    is_trusting: false,
                    is_polling: depth > 1,
                };
                let found = exchange(&settings(reply, buffer_bytes), &load, messages).unwrap();
                assert_eq!(found.messages, messages);
                assert_eq!(found.round_trips.count(), messages);
                assert!(found.start_ns < found.end_ns);
                let of_workers = found.messages_of.iter();
                assert!(of_workers.clone().max().unwrap() - of_workers.min().unwrap() <= 1);
                let in_flight = found.in_flight_ns as f64 / (found.end_ns - found.start_ns) as f64;
                assert!(in_flight <= (workers as u64 * depth) as f64, "{in_flight}");
            }
        }
    }
}

#[test]
fn a_run_that_ends_by_time_finishes_what_it_has_begun() {
    while_serving(&settings(PER_READ, 4096), |address| {
        let mut client = load(100, 3, 4).client(address);
        let found = client
            .run(Goal::Duration(20_000_000), TIMEOUT_NS)
            .unwrap()
            .measured;
        assert!(found.end_ns - found.start_ns >= 20_000_000);
        assert!(found.messages >= 12);
        assert_eq!(found.round_trips.count(), found.messages);
        client.finish(Duration::from_secs(5)).unwrap();
    });
}

#[test]
fn a_tick_gathers_the_replies_to_one_read() {
    let settings = settings(per_message(100, Strategy::Tick), 1 << 16);
    let found = exchange(&settings, &load(100, 1, 64), 64 * 40).unwrap();
    // Each batch of 64 comes back in one read or few, and not in one for each message.
    assert!(found.reads <= 64 * 4, "{}", found.reads);
}

#[test]
fn a_server_that_sends_its_whole_buffer_is_caught() {
    let faulty = settings(
        Reply::PerRead {
            is_whole_buffer: true,
        },
        4096,
    );
    let failure = exchange(&faulty, &load(1_000, 5, 1), 100).unwrap_err();
    assert!(
        matches!(
            failure.fault,
            Fault::Echo(EchoError::TooLong { .. } | EchoError::Differs { .. })
        ),
        "{failure}"
    );
    assert!(failure.to_string().starts_with("worker "), "{failure}");
}

#[test]
fn a_client_that_trusts_such_a_server_has_its_messages_and_is_told_by_the_check() {
    let faulty = settings(
        Reply::PerRead {
            is_whole_buffer: true,
        },
        4096,
    );
    while_serving(&faulty, |address| {
        let mut client = Load {
            is_trusting: true,
            ..load(1_000, 5, 1)
        }
        .client(address);
        client.run(Goal::Messages(100), TIMEOUT_NS).unwrap();
        let found = client
            .run(Goal::Messages(2_000), TIMEOUT_NS)
            .unwrap()
            .measured;
        assert_eq!(found.messages, 2_000);
        let (_, fault) = client.fault().unwrap();
        assert!(matches!(fault, EchoError::Differs { .. }), "{fault}");
    });
}

#[test]
fn a_trusting_client_finds_nothing_in_an_honest_echo() {
    while_serving(&settings(PER_READ, 4096), |address| {
        let mut client = Load {
            is_trusting: true,
            ..load(1_000, 2, 8)
        }
        .client(address);
        let found = client
            .run(Goal::Messages(300), TIMEOUT_NS)
            .unwrap()
            .measured;
        assert_eq!((found.messages, client.fault()), (300, None));
    });
}

#[test]
fn asking_before_it_sleeps_is_not_counted_as_work() {
    // A server that holds each message for most of the time for which the client polls.
    let hold = Strategy::Coalesce {
        hold: Duration::from_micros(80),
    };
    while_serving(&settings(per_message(10, hold), 4096), |address| {
        for is_polling in [false, true] {
            let mut client = Load {
                is_polling,
                ..load(10, 1, 1)
            }
            .client(address);
            let found = client
                .run(Goal::Messages(500), TIMEOUT_NS)
                .unwrap()
                .measured;
            assert_eq!(found.messages, 500);
            assert_eq!(found.polled_ns > 0, is_polling);
            let whole_ns = found.polled_ns + found.usage.cpu_ns;
            assert!(whole_ns <= found.end_ns - found.start_ns + 1_000_000);
        }
    });
}

#[test]
fn a_server_that_does_not_answer_is_named_when_time_is_up() {
    // The program accepts no connection; the kernel does.
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut client = load(10, 2, 1).client(listener.local_addr().unwrap());
    let failure = client.run(Goal::Messages(5), 30_000_000).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "worker 0: only 0 of 10 bytes had come back when time was up"
    );
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let settings = ClientSettings {
        workers: 2,
        depth: 1,
        congestion_control: None,
        connect_timeout: Duration::from_secs(5),
        admission: Admission::default(),
        is_trusting: false,
        is_polling: false,
    };
    let failure = EchoClient::connect(address, pool(10), &settings, None).unwrap_err();
    assert!(
        failure.to_string().starts_with("worker 0: cannot connect"),
        "{failure}"
    );
}

#[test]
fn a_server_that_ends_early_is_named_with_what_had_come_back() {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            use std::io::{Read, Write};
            let (mut stream, _) = listener.accept().unwrap();
            let mut message = [0; 10];
            stream.read_exact(&mut message).unwrap();
            stream.write_all(&message[..4]).unwrap();
        });
        let mut client = load(10, 1, 1).client(address);
        let failure = client.run(Goal::Messages(5), TIMEOUT_NS).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "worker 0: the server ended the connection after 4 of 10 bytes had come back"
        );
    });
}
