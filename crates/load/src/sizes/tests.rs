mod alternating;

use super::{
    client::{Client, Measured},
    faults::{Fault, SampleError, Stage},
    local::{time_one_thread, time_system_calls, time_two_threads},
    sample::Options,
    server::{self, Counts, ServeError, Server},
};
use crate::{
    messages::{Limits, Setup, WireError, sample_content},
    socket::{FRESH_PORT, admission::Admission},
};
use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    os::{fd::AsRawFd, unix::net::UnixStream},
    thread,
    time::Duration,
};

const SEED: u64 = 7;
const LARGEST: usize = 4 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

fn options() -> server::Options {
    server::Options {
        address: FRESH_PORT,
        ports: 1,
        limits: Limits {
            max_length: 2 << 20,
            max_count: 1_000,
        },
        max_connections: 100,
        compared: Some((SEED, LARGEST)),
        client: Admission::default(),
    }
}

fn asking(port: u16, length: u32, count: u32) -> Options {
    Options {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        setup: Setup { length, count },
        is_setup_joined: false,
        is_nodelay: true,
        congestion_control: "cubic".into(),
        admission: Admission::default(),
        timeout: PATIENCE,
    }
}

/// What a client makes of one case alone.
fn measured(asked: Options, first: u64, samples: u64) -> Result<Measured, SampleError> {
    let mut found = Client::new(vec![asked], SEED).measure(first, samples, 0);
    found.pop().expect("the case has an outcome")
}

/// What a server counts that serves `samples` while `act` goes on with its port.
fn while_serving<T>(
    options: server::Options,
    samples: u64,
    act: impl FnOnce(u16) -> T,
) -> (T, Result<Counts, ServeError>) {
    let mut server = Server::listen(options, "cubic").unwrap();
    let port = server.ports().unwrap()[0];
    // Not a scoped thread, which a failure of `act` would wait for.
    let serving = thread::spawn(move || server.serve(samples, None).map(|()| server.counts()[0]));
    let done = act(port);
    (done, serving.join().unwrap())
}

fn connected(port: u16) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether the server has reset the connection rather than ended it in peace.
fn is_reset(mut stream: TcpStream) -> bool {
    let mut left = Vec::new();
    stream.read_to_end(&mut left).is_err()
}

#[test]
fn every_byte_of_every_sample_is_compared() {
    for (length, count) in [(1, 0), (1, 1), (9, 2), (100_000, 3), (2 << 20, 2)] {
        for is_setup_joined in [false, true] {
            // One more has the last byte of its first message withheld.
            let connections = 5 + u64::from(count > 0);
            let (found, counts) = while_serving(options(), connections, |port| {
                let asked = Options {
                    is_setup_joined,
                    ..asking(port, length, count)
                };
                measured(asked, 2, 3).unwrap()
            });
            let counts = counts.unwrap();
            // Without messages there is nothing to compare.
            let compared = if count > 0 { connections } else { 0 };
            let counted = (counts.samples, counts.compared_samples);
            assert_eq!(counted, (connections, compared));
            assert_eq!(
                counts.bytes,
                connections * u64::from(length) * u64::from(count)
            );
            assert!(found.run_time_ns > 0);
            assert_eq!((counts.refused, counts.idle), (0, 0));
            assert_eq!((found.total.count(), found.first_total.count()), (3, 2));
            let has_trips = u64::from(count > 0);
            assert_eq!(found.transfer.count(), 3 * has_trips);
            assert_eq!(found.first_trip.count(), 3 * has_trips);
            let next_trips = u64::from(count.saturating_sub(1));
            assert_eq!(found.next_trips.count(), 3 * next_trips);
            let is_joined = is_setup_joined && count > 0;
            assert_eq!(found.setup.count(), if is_joined { 0 } else { 3 });
        }
    }
}

#[test]
fn one_wrong_byte_ends_the_server_with_its_offset() {
    let ((), served) = while_serving(options(), 1, |port| {
        let mut stream = connected(port);
        let mut content = sample_content(SEED, 300_000);
        content[299_999] ^= 1;
        let setup = Setup {
            length: 100_000,
            count: 3,
        };
        stream.write_all(&setup.to_bytes()).unwrap();
        stream.write_all(&content).unwrap();
        let mut acknowledged = [0; 12];
        stream.read_exact(&mut acknowledged).unwrap();
    });
    assert!(matches!(served, Err(ServeError::WrongByte(wrong)) if wrong.offset == 299_999));
}

#[test]
fn a_server_outlives_what_hostile_peers_do_and_names_nobody_s_sample_theirs() {
    let huge = Setup {
        length: u32::MAX,
        count: u32::MAX,
    };
    let ((), counts) = while_serving(options(), 4, |port| {
        let mut asks_too_much = connected(port);
        asks_too_much.write_all(&huge.to_bytes()).unwrap();
        assert!(is_reset(asks_too_much));
        let mut garbage = connected(port);
        let _unread = garbage.write_all(&[255; 100]);
        assert!(is_reset(garbage));
        let mut half_a_setup = connected(port);
        half_a_setup.write_all(&[0, 0, 0]).unwrap();
        half_a_setup.shutdown(Shutdown::Write).unwrap();
        assert!(is_reset(half_a_setup));
        let mut one_too_many = connected(port);
        one_too_many
            .write_all(&[0, 0, 0, 1, 0, 0, 0, 1, 9, 9])
            .unwrap();
        assert!(is_reset(one_too_many));
        let silent: Vec<TcpStream> = (0..50).map(|_| connected(port)).collect();
        measured(asking(port, 10, 1), 0, 3).unwrap();
        drop(silent);
    });
    let counts = counts.unwrap();
    assert_eq!((counts.samples, counts.compared_samples), (4, 4));
    assert!(counts.refused >= 4, "{counts:?}");
}

#[test]
fn when_all_slots_are_taken_the_most_silent_connection_gives_way() {
    let few = server::Options {
        max_connections: 3,
        ..options()
    };
    let ((), counts) = while_serving(few, 2, |port| {
        let silent: Vec<TcpStream> = (0..10).map(|_| connected(port)).collect();
        measured(asking(port, 1, 1), 0, 1).unwrap();
        drop(silent);
    });
    assert!(counts.unwrap().idle >= 8);
}

#[test]
fn a_peer_that_reads_no_acknowledgement_is_let_go() {
    let many = server::Options {
        limits: Limits {
            max_length: 1,
            max_count: u32::MAX,
        },
        ..options()
    };
    let ((), counts) = while_serving(many, 2, |port| {
        let mut deaf = connected(port);
        deaf.write_all(&[0, 0, 0, 1, 255, 255, 255, 255]).unwrap();
        let messages = vec![1; 1 << 16];
        while deaf.write_all(&messages).is_ok() {}
        measured(asking(port, 1, 1), 0, 1).unwrap();
    });
    assert!(counts.unwrap().refused >= 1);
}

#[test]
fn it_ends_when_it_is_told_to_even_before_it_waits_and_may_serve_again() {
    let mut server = Server::listen(options(), "cubic").unwrap();
    let port = server.ports().unwrap()[0];
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(b"x").unwrap();
    for _ in 0..2 {
        server.serve(1, Some(theirs.as_raw_fd())).unwrap();
    }
    assert_eq!(server.counts()[0].samples, 0);
    let serving = thread::spawn(move || server.serve(2, None).map(|()| server.counts()[0]));
    measured(asking(port, 1, 1), 0, 1).unwrap();
    assert_eq!(serving.join().unwrap().unwrap().samples, 2);
}

#[test]
fn a_client_that_awaits_our_end_gets_it() {
    let (ended, counts) = while_serving(options(), 1, |port| {
        let mut stream = connected(port);
        stream.write_all(&[0, 0, 0, 1, 0, 0, 0, 0]).unwrap();
        stream.read(&mut [0]).unwrap()
    });
    assert_eq!((ended, counts.unwrap().samples), (0, 1));
}

/// What a client makes of a server that does this with each connection.
fn against(
    length: u32,
    timeout: Duration,
    act: impl FnOnce(TcpStream) + Send + 'static,
) -> Result<(), SampleError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || act(listener.accept().unwrap().0));
    let asked = Options {
        timeout,
        ..asking(port, length, 1)
    };
    measured(asked, 0, 1).map(|_| ())
}

/// Read a setup and one message of one byte.
fn taken(stream: &mut TcpStream) {
    stream.read_exact(&mut [0; 9]).unwrap();
}

#[test]
fn a_client_tells_what_a_faulty_server_did() {
    let ended = against(1, PATIENCE, |mut stream| taken(&mut stream)).unwrap_err();
    assert!(matches!(ended.fault, Fault::Refused { length: 1 }));
    let wrong = against(1, PATIENCE, |mut stream| {
        taken(&mut stream);
        stream.write_all(&[0, 0, 0, 2]).unwrap();
    });
    assert_eq!(
        wrong.unwrap_err().to_string(),
        "sample 0, message 0: acknowledgement 0 says 2 bytes, and the message had 1"
    );
    let half = against(1, PATIENCE, |mut stream| {
        taken(&mut stream);
        stream.write_all(&[0, 0, 0]).unwrap();
    });
    let missing = WireError::Truncated { missing: 1 };
    assert!(matches!(half.unwrap_err().fault, Fault::Wire(fault) if fault == missing));
    let more = against(1, PATIENCE, |mut stream| {
        taken(&mut stream);
        stream.write_all(&[0, 0, 0, 1, 0]).unwrap();
    });
    let more = more.unwrap_err();
    assert_eq!(more.stage, Stage::End);
    assert!(matches!(
        more.fault,
        Fault::Wire(WireError::Excess { excess: 1 })
    ));
}

#[test]
fn a_client_waits_for_nobody_longer_than_its_timeout() {
    // A client that waits for longer sees how the server ends, and tells that.
    let soon = Duration::from_millis(300);
    let silent = against(1, soon, |stream| {
        thread::sleep(PATIENCE);
        drop(stream);
    });
    assert!(matches!(silent.unwrap_err().fault, Fault::TimedOut(_)));
    // A byte comes in time, again and again, and the last one far later than all may take.
    let drips = against(1, Duration::from_secs(3), |mut stream| {
        taken(&mut stream);
        for byte in [0, 0, 0, 1] {
            thread::sleep(Duration::from_secs(2));
            let _gone = stream.write_all(&[byte]);
        }
    });
    assert!(matches!(drips.unwrap_err().fault, Fault::TimedOut(_)));
    let reads_nothing = against(64 << 20, soon, |stream| {
        thread::sleep(PATIENCE);
        drop(stream);
    });
    assert!(matches!(
        reads_nothing.unwrap_err().fault,
        Fault::TimedOut(_)
    ));
}

#[test]
fn where_nobody_listens_the_connect_is_named() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let refused = measured(asking(port, 1, 1), 0, 1).unwrap_err();
    assert_eq!(refused.stage, Stage::Connect);
    assert!(
        refused
            .to_string()
            .starts_with("sample 0, connect: Connection refused")
    );
}

#[test]
fn the_local_parts_are_timed_as_often_as_asked() {
    assert_eq!(time_system_calls(3, 10).count(), 10);
    assert_eq!(time_one_thread(3, 10).unwrap().count(), 10);
    assert_eq!(time_two_threads(3, 10, 0).unwrap().count(), 10);
    assert!(time_two_threads(0, 1, 100_000).is_err());
}
