use super::*;
use crate::{
    rr::options::Connections,
    sends::ring,
    socket::{FRESH_PORT, admission::Admission, listening},
};
use std::{
    io::{Read, Write},
    thread,
};

const CALLERS: usize = 50;

/// A peer that answers a round only when the requests of all callers have come.
fn answer_in_rounds(listener: &std::net::TcpListener, rounds: u64) {
    let mut streams: Vec<_> = (0..CALLERS).map(|_| listener.accept().unwrap().0).collect();
    for round in 0..rounds {
        for stream in &mut streams {
            stream.read_exact(&mut [0; 10]).unwrap();
        }
        for stream in &mut streams {
            stream.write_all(&[round as u8]).unwrap();
        }
    }
}

#[test]
fn one_call_of_io_uring_hands_over_the_requests_and_reads_of_many() {
    if let Err(refusal) = ring::check() {
        eprintln!("skipped: io_uring is not permitted ({refusal})");
        return;
    }
    let listener = listening(
        FRESH_PORT,
        Some("cubic"),
        CALLERS as i32,
        Admission::default(),
    )
    .unwrap();
    let content = CallContent::generate(1, 10, 1).unwrap();
    let options = CallOptions {
        address: listener.local_addr().unwrap(),
        callers: CALLERS,
        connections: Connections::Many { is_ring: true },
        sends_per_request: 1,
        is_nodelay: true,
        congestion_control: "cubic".into(),
        warm_up_calls: 1,
        admission: Admission::default(),
    };
    let is_stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| answer_in_rounds(&listener, 2));
        let (lines, _) = connecting::connected(&options, &content, &is_stopped).unwrap();
        let fds = lines.iter().map(callers::fd_of).collect::<Vec<_>>();
        let mut by_ring = ByRing::new(&fds, &content).unwrap();
        let mut callers = Callers::new(lines, 1, &content);
        callers.begin_span(Span {
            calls: Some(1),
            ..Span::always()
        });
        for caller in 0..CALLERS {
            assert!(callers.begin(caller).unwrap());
            by_ring.send(&callers, caller).unwrap();
        }
        by_ring.wait(None).unwrap();
        // A send and a read of each.
        assert_eq!(by_ring.calls_and_handed(), (1, 2 * CALLERS as u64));
        while callers.is_calling() {
            by_ring.advance(&mut callers, None).unwrap();
        }
        assert_eq!(callers.take_tally().calls, CALLERS as u64);
    });
}
