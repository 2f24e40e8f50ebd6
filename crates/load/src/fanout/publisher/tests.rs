use super::super::{subscribers::Subscribers, tally::Turns};
use super::*;
use crate::{
    schedule::{Arrival, Slices},
    sends::{MOST_WAITING_BYTES, Waiting, over, ring},
    socket::admission::Admission,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::Read,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::fd::AsRawFd,
    sync::mpsc,
    thread,
};

const PATIENCE_NS: u64 = 10_000_000_000;
const WARM_UP: u64 = 2;

/// By send calls, and by io_uring where that is permitted.
fn kinds() -> impl Iterator<Item = bool> {
    [false, true]
        .into_iter()
        .filter(|is_ring| !is_ring || ring::check().is_ok())
}

fn turns(start_ns: u64) -> Turns {
    Turns {
        slices: Slices::new(vec![0, 30_000_000], 20_000_000).unwrap(),
        settling_ns: 1_000_000,
        open_ns: 15_000_000,
        start_ns,
    }
}

#[test]
fn every_byte_of_every_publication_comes_to_every_subscriber() {
    let schedule = Schedule::new(500.0, Arrival::Constant, 1, 40_000_000, 1).unwrap();
    for is_ring in kinds() {
        for pace in [
            Pace::Closed(1),
            Pace::Closed(3),
            Pace::Scheduled(schedule.clone()),
        ] {
            let publications = Publications::new(1, 100).unwrap();
            let mut subscribers = Subscribers::listen(
                Ipv4Addr::LOCALHOST.into(),
                "cubic",
                publications.clone(),
                Admission::default(),
            )
            .unwrap();
            let port = subscribers.port().unwrap();
            let give_up_ns = monotonic_ns() + 60_000_000_000;
            // What came before the slices begin must be the warm-up alone.
            let (has_warmed_up, warmed_up) = mpsc::channel();
            let (start, started) = mpsc::channel();
            let receiving = thread::spawn(move || {
                subscribers.warm_up(3, WARM_UP, PATIENCE_NS).unwrap();
                has_warmed_up.send(()).unwrap();
                let turns = turns(started.recv().unwrap());
                let counts = subscribers.receive(turns, None, give_up_ns).unwrap();
                (counts, subscribers)
            });
            let streams: Vec<_> = (0..3)
                .map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap())
                .collect();
            let fds = streams.iter().map(AsRawFd::as_raw_fd).collect();
            let mut sends = over(fds, is_ring).unwrap();
            warm_up(&mut *sends, &publications, WARM_UP, PATIENCE_NS).unwrap();
            warmed_up.recv().unwrap();
            let start_ns = monotonic_ns() + 1_000_000;
            start.send(start_ns).unwrap();
            let is_paced = matches!(pace, Pace::Scheduled(_));
            let turns = turns(start_ns);
            let count = publish(
                &mut *sends,
                &publications,
                WARM_UP,
                &turns,
                pace,
                PATIENCE_NS,
            )
            .unwrap();
            let writes = sends.calls().writes;
            drop((sends, streams));
            let (counts, subscribers) = receiving.join().unwrap();
            assert_eq!(counts.publications, count);
            assert_eq!(counts.bytes, count * 3 * 100);
            let of_slices = subscribers.tally().of_slices();
            let all: u64 = of_slices.iter().map(|one| one.all_messages).sum();
            assert_eq!(all, count * 3);
            if is_paced {
                assert_eq!(count, 20);
            }
            let each = if is_ring { 1 } else { 3 };
            assert_eq!(writes, (count + WARM_UP) * each);
        }
    }
}

#[test]
fn a_subscriber_that_takes_nothing_is_named_and_costs_bounded_memory() {
    for is_ring in kinds() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let streams: Vec<_> = (0..2)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        let (mut reads, _) = listener.accept().unwrap();
        let (stalls, _) = listener.accept().unwrap();
        let reading = thread::spawn(move || reads.read_to_end(&mut Vec::new()));
        let fds = streams.iter().map(AsRawFd::as_raw_fd).collect();
        let mut sends = over(fds, is_ring).unwrap();
        let publications = Publications::new(1, 1 << 20).unwrap();
        let schedule = Schedule::new(200_000.0, Arrival::Constant, 1, 1_000_000, 1).unwrap();
        let turns = Turns {
            slices: Slices::new(vec![0], 1_000_000).unwrap(),
            settling_ns: 0,
            open_ns: 1_000_000,
            start_ns: monotonic_ns(),
        };
        let told = publish(
            &mut *sends,
            &publications,
            0,
            &turns,
            Pace::Scheduled(schedule),
            PATIENCE_NS,
        );
        match told {
            Err(SendError::Behind(Waiting {
                connection,
                bytes,
                all_bytes,
            })) => {
                assert_eq!(connection, 1);
                assert!(bytes <= all_bytes && all_bytes <= MOST_WAITING_BYTES + (4 << 20));
            }
            other => panic!("{other:?}"),
        }
        drop((sends, streams, stalls));
        let _ended = reading.join().unwrap();
    }
}

#[test]
fn a_subscriber_that_resets_its_connection_is_named() {
    for is_ring in kinds() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let streams: Vec<_> = (0..3)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        let accepted: Vec<_> = (0..3).map(|_| listener.accept().unwrap().0).collect();
        crate::socket::reset_when_closed(&accepted[1]).unwrap();
        let fds = streams.iter().map(AsRawFd::as_raw_fd).collect();
        let mut sends = over(fds, is_ring).unwrap();
        let publications = Publications::new(1, 100).unwrap();
        warm_up(&mut *sends, &publications, 1, PATIENCE_NS).unwrap();
        let mut accepted = accepted;
        drop(accepted.remove(1));
        // A busy kernel may take a while to bring the reset over.
        let minute = Timespec {
            tv_sec: 60,
            tv_nsec: 0,
        };
        let mut reset = [PollFd::new(&streams[1], PollFlags::IN)];
        assert_eq!(poll(&mut reset, Some(&minute)).unwrap(), 1);
        let told = warm_up(&mut *sends, &publications, 2, PATIENCE_NS);
        assert!(
            matches!(&told, Err(SendError::Lost { connection: 1, .. })),
            "{told:?}"
        );
    }
}
