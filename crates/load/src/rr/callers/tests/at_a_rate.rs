//! Callers at a rate, on whatever connections: calls are begun when they are due, and count from then.

use super::*;

const MS: u64 = 1_000_000;

fn kinds() -> impl Iterator<Item = Connections> {
    with_threads().into_iter().chain(many())
}

fn span(start_ns: u64, lasts_ns: u64, own_ns: u64) -> Span {
    Span {
        start_ns,
        end_ns: start_ns + lasts_ns,
        calls: None,
        settled_ns: None,
        own_ns,
    }
}

#[test]
fn all_calls_are_made_none_before_it_is_due_and_their_times_count_from_then() {
    let content = content(2);
    let due_ns: Vec<u64> = (0..40).map(|call| call * MS).collect();
    for connections in kinds() {
        let (tally, counts) = with_server(&content, |port| {
            let callers = prepared(options(port, connections), &content).unwrap();
            let start_ns = monotonic_ns() + 10 * MS;
            // The span is long: on a busy host callers may be late.
            let agenda = Agenda::new(due_ns.clone(), 4);
            let tally = callers
                .run_at_a_rate(&[span(start_ns, LASTS_NS, 0)], agenda)
                .unwrap();
            assert!(tally.last_ns >= start_ns + 39 * MS, "{connections:?}");
            tally
        });
        assert_eq!(counts.requests, 40 + 4 * 2, "{connections:?}");
        assert_eq!((tally.calls, tally.start_delays.not_begun), (40, 0));
        assert_eq!(
            (tally.call.count(), tally.start_delays.times.count()),
            (40, 40)
        );
        // Little's law, with callers that were there all the time.
        assert!(tally.call_time_ns + tally.connect_time_ns <= tally.callers_time_ns);
        assert!(tally.callers_time_ns >= 4 * LASTS_NS);
    }
}

#[test]
fn calls_that_their_caller_could_not_begin_count_with_the_time_that_they_waited() {
    let content = content(2);
    for connections in kinds() {
        let outcome = with_peer(
            |mut stream| {
                // A server that answers one request, after a while, and then no more in time.
                let mut request = vec![0; REQUEST_BYTES as usize];
                stream.read_exact(&mut request).unwrap();
                thread::sleep(Duration::from_millis(60));
                stream.write_all(&content.reply_part(0)[..2]).unwrap();
            },
            1,
            |port| {
                let options = CallOptions {
                    warm_up_calls: 0,
                    ..alone(port, connections)
                };
                let callers = prepared(options, &content).unwrap();
                let start_ns = monotonic_ns() + MS;
                let agenda = Agenda::new(vec![0, 5 * MS, 10 * MS], 1);
                callers.run_at_a_rate(&[span(start_ns, 20 * MS, 0)], agenda)
            },
        );
        let tally = outcome.unwrap();
        assert_eq!(
            (tally.calls, tally.start_delays.not_begun),
            (1, 2),
            "{connections:?}"
        );
        assert_eq!(tally.start_delays.behind_ns, 15 * MS);
        // 60 ms, 15 ms and 10 ms.
        assert_eq!(tally.call.count(), 3);
        assert!(tally.call.max_ns() >= 59 * MS);
    }
}

#[test]
fn a_call_that_is_late_is_begun_in_the_next_slice_and_belongs_to_its_own() {
    let content = content(2);
    for connections in kinds() {
        let (tally, counts) = with_server(&content, |port| {
            let callers = prepared(options(port, connections), &content).unwrap();
            let now_ns = monotonic_ns();
            let slice = |start_ns: u64, lasts_ns: u64, own_ns: u64| Span {
                settled_ns: Some(start_ns),
                ..span(start_ns, lasts_ns, own_ns)
            };
            // The first slice is over before anybody has a look at it.
            let spans = [
                slice(now_ns - 200 * MS, 10 * MS, 0),
                slice(now_ns, A_LONG_TIME_NS, 10 * MS),
            ];
            let agenda = Agenda::new(vec![6 * MS, 7 * MS, 8 * MS, 9 * MS, 11 * MS], 4);
            // Nobody waits for the end of the long slice: it has no other call.
            callers.run_at_a_rate(&spans, agenda).unwrap()
        });
        assert_eq!((tally.calls, counts.requests), (5, 5 + 4 * 2));
        let counted = [0, 1].map(|slice: usize| tally.slices[slice].calls_ns.len());
        assert_eq!(counted, [4, 1], "{connections:?}");
        // Between the slices, 190 ms long, the case's time stood still.
        let first = &tally.slices[0].calls_ns;
        assert!(first.iter().all(|&took_ns| took_ns >= MS), "{first:?}");
        assert!(first.iter().any(|&took_ns| took_ns < 100 * MS), "{first:?}");
        assert_eq!((tally.slices[0].calls, tally.slices[1].calls), (0, 5));
    }
}
