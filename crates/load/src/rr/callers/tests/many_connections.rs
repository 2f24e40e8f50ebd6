//! Callers on many connections, by epoll and by io_uring, against our server and peers that do wrong.

use super::*;

/// More than are connected at a time, with requests that no socket takes at one go.
#[test]
fn large_requests_on_many_connections_come_whole_and_each_gets_its_reply() {
    let content = CallContent::generate(1, 4 << 20, 3).unwrap();
    for connections in many() {
        let (tally, counts) = with_server(&content, |port| {
            let options = CallOptions {
                callers: 70,
                warm_up_calls: 1,
                ..options(port, connections)
            };
            prepared(options, &content)
                .unwrap()
                .run(&now_for(1))
                .unwrap()
        });
        assert_eq!((tally.calls, counts.requests), (70, 2 * 70));
        assert_eq!((counts.accepted, counts.most_connections), (70, 70));
        assert_eq!((counts.wrong_requests, counts.evicted_connections), (0, 0));
    }
}

#[test]
fn on_many_connections_bytes_that_nobody_asked_for_and_an_end_between_calls_are_found() {
    let content = content(4);
    for connections in many() {
        for unasked in [&b"x"[..], &b""[..]] {
            let (found, told) = UnixStream::pair().unwrap();
            let failure = with_peer(
                |mut stream| {
                    let mut request = vec![0; REQUEST_BYTES as usize];
                    stream.read_exact(&mut request).unwrap();
                    stream.write_all(&[0, 1, 2, 3]).unwrap();
                    stream.write_all(unasked).unwrap();
                    if unasked.is_empty() {
                        stream.shutdown(std::net::Shutdown::Write).unwrap();
                    }
                    (&told).read_exact(&mut [0]).unwrap();
                },
                1,
                |port| {
                    let callers = prepared(alone(port, connections), &content);
                    let outcome = callers.and_then(|ready| ready.run(&now_for(1)));
                    (&found).write_all(b"x").unwrap();
                    outcome.unwrap_err()
                },
            );
            let is_named = if unasked.is_empty() {
                matches!(failure, CallError::ShortReply { index: 1, .. })
            } else {
                matches!(
                    failure,
                    CallError::EarlyReply { index: 1 } | CallError::WrongReply { index: 1 }
                )
            };
            assert!(is_named, "{failure}");
        }
    }
}
