//! What callers count, and how they fail: against our server, and against peers that do wrong.

use super::*;
use crate::{
    rr::{Counts, Server, ServerOptions, SliceTally},
    socket::{FRESH_PORT, admission::Admission},
};
use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::{fd::AsRawFd, unix::net::UnixStream},
};

mod at_a_rate;
mod many_connections;

const REQUEST_BYTES: u64 = 1_000;
const A_LONG_TIME_NS: u64 = 60_000_000_000;
/// Longer than a busy host keeps a caller from its first call.
const LASTS_NS: u64 = 500_000_000;

fn content(reply_bytes: u64) -> CallContent {
    CallContent::generate(1, REQUEST_BYTES, reply_bytes).unwrap()
}

fn options(port: u16, connections: Connections) -> CallOptions {
    CallOptions {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        callers: 4,
        connections,
        sends_per_request: 3,
        is_nodelay: true,
        congestion_control: "cubic".into(),
        warm_up_calls: 2,
        admission: Admission::default(),
    }
}

/// Connections of callers that have a thread each.
fn with_threads() -> [Connections; 3] {
    [
        Connections::PerRequest,
        Connections::PerCaller,
        Connections::Shared { depth: 2 },
    ]
}

/// Many connections without a thread each: by epoll, and by io_uring where that is permitted.
fn many() -> impl Iterator<Item = Connections> {
    [false, true]
        .into_iter()
        .filter(|is_ring| !is_ring || crate::sends::ring::check().is_ok())
        .map(|is_ring| Connections::Many { is_ring })
}

fn now_for(calls: u64) -> [Span; 1] {
    [Span {
        calls: Some(calls),
        ..Span::always()
    }]
}

fn prepared(options: CallOptions, content: &CallContent) -> Result<Callers, CallError> {
    Callers::prepare(options, content.clone(), monotonic_ns() + A_LONG_TIME_NS)
}

fn with_server<T>(content: &CallContent, act: impl FnOnce(u16) -> T) -> (T, Counts) {
    let server = Server::listen(
        FRESH_PORT,
        content.clone(),
        ServerOptions {
            client: Admission::default(),
            backlog: 1024,
            is_nodelay: true,
            is_quickack: false,
            max_connections: 100,
            idle_ns: A_LONG_TIME_NS,
            congestion_control: "cubic".into(),
        },
    )
    .unwrap();
    let port = server.port().unwrap();
    let (stop, stopped) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let running = scope.spawn(move || server.run(stopped.as_raw_fd()));
        let done = act(port);
        drop(stop);
        (done, running.join().unwrap().unwrap())
    })
}

#[test]
fn every_call_is_counted_on_whatever_connections() {
    let kinds = [
        (Connections::PerRequest, 4 * (5 + 2), 4 * 5),
        (Connections::PerCaller, 4, 4),
        (Connections::Shared { depth: 1 }, 1, 1),
        (Connections::Shared { depth: 3 }, 1, 1),
        (Connections::Shared { depth: 9 }, 1, 1),
    ];
    let many = many().map(|connections| (connections, 4, 4));
    for (connections, accepted, connects) in kinds.into_iter().chain(many) {
        // Larger than a socket's buffers, and of one byte.
        for reply_bytes in [2, 1, 1 << 20] {
            let content = content(reply_bytes);
            let (tally, counts) = with_server(&content, |port| {
                let callers = prepared(options(port, connections), &content).unwrap();
                callers.run(&now_for(5)).unwrap()
            });
            assert_eq!((tally.calls, tally.call.count()), (4 * 5, 4 * 5));
            assert_eq!(tally.connect.count(), connects, "{connections:?}");
            assert_eq!(counts.accepted, accepted, "{connections:?}");
            assert_eq!(counts.requests, 4 * (5 + 2));
            assert_eq!((counts.short_requests, counts.wrong_requests), (0, 0));
            // Little's law: nobody is in two calls at a time.
            assert!(tally.call_time_ns + tally.connect_time_ns <= tally.callers_time_ns);
        }
    }
}

#[test]
fn no_call_begins_after_the_end_and_all_that_have_begun_are_finished() {
    let content = content(2);
    let each = [Connections::PerCaller, Connections::Shared { depth: 2 }];
    for connections in each.into_iter().chain(many()) {
        let (tally, counts) = with_server(&content, |port| {
            let callers = prepared(options(port, connections), &content).unwrap();
            let start_ns = monotonic_ns() + 1_000_000;
            let end_ns = start_ns + LASTS_NS;
            let span = Span {
                start_ns,
                end_ns,
                calls: None,
                settled_ns: None,
                own_ns: 0,
            };
            callers.run(&[span]).unwrap()
        });
        assert!(tally.calls >= 4);
        assert_eq!(counts.requests, tally.calls + 4 * 2);
        // With many callers a busy host may let one look at the clock long after its last reply came.
        let are_many = matches!(connections, Connections::Many { .. });
        let least_ns = if are_many { LASTS_NS / 2 } else { LASTS_NS };
        assert!(tally.callers_time_ns >= 4 * least_ns);
        assert_eq!(tally.slices, []);
    }
}

#[test]
fn in_slices_calls_that_began_before_one_had_settled_are_in_no_slice() {
    let content = content(50);
    for connections in with_threads().into_iter().chain(many()) {
        let (tally, counts) = with_server(&content, |port| {
            let callers = prepared(options(port, connections), &content).unwrap();
            let first_ns = monotonic_ns() + 1_000_000;
            let slice = |start_ns: u64, settling_ns: u64| Span {
                start_ns,
                end_ns: start_ns + 10_000_000,
                calls: None,
                settled_ns: Some(start_ns + settling_ns),
                own_ns: 0,
            };
            // In the last one each caller has its calls, and none begins after it has settled.
            let last = Span {
                calls: Some(3),
                end_ns: first_ns + A_LONG_TIME_NS,
                ..slice(first_ns + 40_000_000, A_LONG_TIME_NS)
            };
            let spans = [
                slice(first_ns, 0),
                slice(first_ns + 20_000_000, 2_000_000),
                last,
            ];
            callers.run(&spans).unwrap()
        });
        assert_eq!(counts.requests, tally.calls + 4 * 2);
        let measured = tally.slices.iter().map(|slice| slice.calls_ns.len() as u64);
        assert_eq!(measured.sum::<u64>(), tally.call.count());
        assert!(tally.call.count() < tally.calls);
        assert_eq!(tally.slices[2].calls, 4 * 3);
        assert_eq!(tally.slices.len(), 3);
        for slice in &tally.slices[..2] {
            // Where a busy host makes a call longer than a slice, a part of it belongs to later ones.
            let are_short = slice.calls_ns.iter().all(|&took_ns| took_ns < 8_000_000);
            assert!(!are_short || slice.callers_time_ns >= slice.calls_ns.iter().sum());
        }
        let all = tally.slices.iter().map(|slice| slice.calls);
        assert_eq!(all.sum::<u64>(), tally.calls);
        let last = SliceTally {
            last_ns: tally.last_ns,
            calls: tally.slices[2].calls,
            ..SliceTally::default()
        };
        assert_eq!(tally.slices[2], last);
    }
}

#[test]
fn callers_that_have_slept_through_a_slice_make_no_call_in_anothers_turn() {
    let content = content(50);
    for connections in with_threads().into_iter().chain(many()) {
        let (tally, counts) = with_server(&content, |port| {
            let callers = prepared(options(port, connections), &content).unwrap();
            let now_ns = monotonic_ns();
            let slice = |start_ns: u64, lasts_ns: u64| Span {
                start_ns,
                end_ns: start_ns + lasts_ns,
                calls: None,
                settled_ns: Some(start_ns),
                own_ns: 0,
            };
            let over = slice(now_ns - 20_000_000, 10_000_000);
            let endless = Span {
                calls: Some(1),
                ..slice(now_ns, A_LONG_TIME_NS)
            };
            callers.run(&[over, endless]).unwrap()
        });
        assert_eq!(tally.slices[0], SliceTally::default(), "{connections:?}");
        assert_eq!((tally.calls, counts.requests), (4, 4 * (1 + 2)));
    }
}

/// A server that treats each connection as told, until nobody comes for a while.
fn with_peer<T>(
    treat: impl Fn(TcpStream) + Sync,
    connections: usize,
    act: impl FnOnce(u16) -> T,
) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let treat = &treat;
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..connections {
                let (stream, _) = listener.accept().unwrap();
                scope.spawn(move || treat(stream));
            }
        });
        act(port)
    })
}

fn alone(port: u16, connections: Connections) -> CallOptions {
    CallOptions {
        callers: 1,
        warm_up_calls: 1,
        admission: Admission::default(),
        ..options(port, connections)
    }
}

#[test]
fn a_short_a_wrong_and_an_unasked_for_reply_are_failures_by_name() {
    let content = content(4);
    let whole = |mut stream: &TcpStream| {
        let mut request = vec![0; REQUEST_BYTES as usize];
        stream.read_exact(&mut request).unwrap();
    };
    let each = [Connections::PerCaller, Connections::Shared { depth: 1 }];
    for connections in each.into_iter().chain(many()) {
        let short = with_peer(
            |mut stream| {
                whole(&stream);
                stream.write_all(&[0, 1, 2]).unwrap();
            },
            1,
            |port| prepared(alone(port, connections), &content).unwrap_err(),
        );
        assert!(
            matches!(
                short,
                CallError::ShortReply {
                    index: 0,
                    expected: 4,
                    ..
                }
            ),
            "{short}"
        );
        let wrong = with_peer(
            |mut stream| {
                whole(&stream);
                stream.write_all(&[0, 1, 2, 4]).unwrap();
            },
            1,
            |port| prepared(alone(port, connections), &content).unwrap_err(),
        );
        assert!(
            matches!(wrong, CallError::WrongReply { index: 0 }),
            "{wrong}"
        );
    }
    let unasked = with_peer(
        |mut stream| {
            whole(&stream);
            stream.write_all(&[0, 1, 2, 3, 1, 2, 3, 4]).unwrap();
        },
        1,
        |port| prepared(alone(port, Connections::Shared { depth: 1 }), &content).unwrap_err(),
    );
    // They may have come before the next request, or with its reply.
    assert!(
        matches!(
            unasked,
            CallError::WrongReply { .. } | CallError::EarlyReply { .. }
        ),
        "{unasked}"
    );
}

#[test]
fn nobody_there_is_a_failure_and_how_many_failed_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let content = content(2);
    let refused = prepared(options(port, Connections::PerCaller), &content).unwrap_err();
    let CallError::Several {
        failed: 4,
        threads: 4,
        first,
    } = refused
    else {
        panic!("{refused}");
    };
    assert!(matches!(*first, CallError::Connect { .. }));
}

#[test]
fn a_server_that_never_replies_is_given_up_in_time() {
    let content = content(2);
    let (stop, stopped) = UnixStream::pair().unwrap();
    let timed_out = with_peer(
        |_stream| {
            // Keeps the connection until the test is over.
            (&stopped).read_exact(&mut [0]).unwrap();
        },
        1,
        |port| {
            let give_up_ns = monotonic_ns() + 50_000_000;
            let options = alone(port, Connections::PerCaller);
            let outcome = Callers::prepare(options, content, give_up_ns);
            (&stop).write_all(b"x").unwrap();
            outcome.unwrap_err()
        },
    );
    assert!(
        matches!(
            timed_out,
            CallError::TimedOut {
                done: 0,
                threads: 1
            }
        ),
        "{timed_out}"
    );
}

#[test]
fn callers_that_are_never_started_end() {
    let content = content(2);
    for connections in [Connections::PerCaller].into_iter().chain(many()) {
        let ((), counts) = with_server(&content, |port| {
            drop(prepared(options(port, connections), &content).unwrap());
        });
        assert_eq!(counts.requests, 4 * 2);
    }
}
