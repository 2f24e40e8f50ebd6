//! Every order of the steps of senders and the writing thread, with a bounded number of
//! preemptions: `make models`. A lost wake-up is a deadlock here, which loom reports.

use super::{
    CoalescingSocket, Failure, FlushError, SendError,
    connection::Connection,
    ground::{self, AtomicPtr, fork, stream},
    writer::Writer,
};
use loom::thread::{self, JoinHandle};
use std::{
    fs::File,
    os::fd::OwnedFd,
    sync::{Arc, LazyLock},
    time::Duration,
};
use tinygram_core::{Coalescer, Knobs, Strategy};

const FOR_EVER: u64 = u64::MAX;

/// Run `act` in every order, with as many preemptions as the known faults need to show.
fn model(act: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(act);
}

fn connection(strategy: Strategy, max_buffered_bytes: usize) -> Arc<Connection> {
    connection_of_knobs(Knobs::of_threads(strategy), max_buffered_bytes)
}

fn connection_of_knobs(mut knobs: Knobs, max_buffered_bytes: usize) -> Arc<Connection> {
    if knobs.strategy == Strategy::Adaptive {
        // Every sender that looks at the clock finds the held messages overdue.
        knobs.max_hold = Some(Duration::from_nanos(1));
    }
    let coalescer = Coalescer::of_threads(knobs).unwrap();
    Arc::new(Connection::new(
        nowhere(),
        false,
        coalescer,
        max_buffered_bytes,
    ))
}

/// One descriptor for all connections: the modelled kernel does not look at it.
fn nowhere() -> Arc<OwnedFd> {
    static NOWHERE: LazyLock<Arc<OwnedFd>> =
        LazyLock::new(|| Arc::new(File::open("/dev/null").unwrap().into()));
    Arc::clone(&NOWHERE)
}

fn writing() -> JoinHandle<()> {
    thread::spawn(|| Writer::get().unwrap().run())
}

fn end(writing: JoinHandle<()>) {
    Writer::get().unwrap().end();
    writing.join().unwrap();
}

fn sending(
    connection: &Arc<Connection>,
    message: &'static [u8],
) -> JoinHandle<Result<(), SendError>> {
    let connection = Arc::clone(connection);
    thread::spawn(move || connection.send(message))
}

/// Whether `bytes` are these messages, each whole and once, in some order.
fn is_some_order(bytes: &[u8], messages: &[&[u8]]) -> bool {
    if messages.is_empty() {
        return bytes.is_empty();
    }
    (0..messages.len()).any(|first| {
        let mut others = messages.to_vec();
        let message = others.remove(first);
        bytes
            .strip_prefix(message)
            .is_some_and(|rest| is_some_order(rest, &others))
    })
}

fn total(failure: &Failure) -> u64 {
    failure.acknowledged_bytes + failure.unknown_bytes + failure.unsent_bytes
}

fn messages_that_come_during_a_write_follow_it(strategy: Strategy) {
    they_follow_it(Knobs::of_threads(strategy));
}

fn they_follow_it(knobs: Knobs) {
    model(move || {
        let connection = connection_of_knobs(knobs, 100);
        let (writing, other) = (writing(), sending(&connection, b"1234"));
        connection.send(b"abcd").unwrap();
        connection.send(b"ef").unwrap();
        other.join().unwrap().unwrap();
        connection.flush(u64::MAX, FOR_EVER).unwrap();
        let bytes = stream();
        assert!(
            is_some_order(&bytes, &[b"abcd", b"ef", b"1234"]),
            "{bytes:?}"
        );
        let at = |message: &[u8]| {
            bytes
                .windows(message.len())
                .position(|part| part == message)
        };
        assert!(at(b"abcd") < at(b"ef"));
        end(writing);
    });
}

#[test]
fn what_comes_during_a_write_follows_it_combined() {
    messages_that_come_during_a_write_follow_it(Strategy::Combine);
}

#[test]
fn what_comes_during_a_write_follows_it_inline() {
    messages_that_come_during_a_write_follow_it(Strategy::NoDelay);
}

#[test]
fn what_comes_during_a_write_follows_it_whoever_writes_it() {
    messages_that_come_during_a_write_follow_it(Strategy::Adaptive);
}

#[test]
fn what_comes_during_a_write_follows_it_in_full_batches_of_their_senders() {
    let mut knobs = Knobs::of_threads(Strategy::Combine);
    knobs.max_bytes = 4;
    they_follow_it(knobs);
}

#[test]
fn a_close_during_a_write_delivers_what_was_taken() {
    model(|| {
        let connection = connection(Strategy::Combine, 100);
        let (writing, other) = (writing(), sending(&connection, b"1234"));
        connection.send(b"abcd").unwrap();
        connection.close();
        connection.flush(u64::MAX, FOR_EVER).unwrap();
        let bytes = stream();
        match other.join().unwrap() {
            Ok(()) => assert!(is_some_order(&bytes, &[b"abcd", b"1234"]), "{bytes:?}"),
            Err(SendError::Closed) => assert_eq!(bytes, b"abcd"),
            Err(error) => panic!("{error}"),
        }
        end(writing);
        assert_eq!(bytes, stream());
    });
}

#[test]
fn giving_up_during_a_write_tells_who_waits() {
    model(|| {
        let connection = connection(Strategy::Combine, 100);
        let writing = writing();
        connection.send(b"abcd").unwrap();
        let flushing = {
            let connection = Arc::clone(&connection);
            thread::spawn(move || connection.flush(u64::MAX, FOR_EVER))
        };
        connection.close();
        let dropped = connection.discard();
        let bytes = stream();
        let told = flushing.join().unwrap();
        end(writing);
        assert_eq!(
            bytes,
            stream(),
            "the next sender's messages come after these"
        );
        assert!(b"abcd".starts_with(&bytes));
        match connection.failure() {
            None => assert_eq!((dropped, told, &bytes[..]), (0, Ok(()), &b"abcd"[..])),
            Some(failure) => {
                assert_eq!(total(&failure), 4);
                assert!(
                    dropped == 0 || dropped + bytes.len() == 4,
                    "{dropped} {bytes:?}"
                );
                // No more bytes left than the failure says are unknown.
                assert!(
                    bytes.len() as u64 <= failure.unknown_bytes,
                    "{bytes:?} {failure}"
                );
                assert!(told == Ok(()) && dropped == 0 || told == Err(failure.into()));
            }
        }
    });
}

#[test]
fn a_reset_during_a_write_reaches_every_sender_and_counts_every_byte() {
    model(|| {
        ground::reset_after(3);
        let connection = connection(Strategy::Combine, 100);
        let (writing, other) = (writing(), sending(&connection, b"1234"));
        let ours = connection.send(b"abcd");
        let told = connection.flush(u64::MAX, FOR_EVER);
        let others = other.join().unwrap();
        let failure = connection.failure().unwrap();
        assert_eq!(told, Err(FlushError::Failed(failure.clone())));
        assert_eq!((failure.unknown_bytes, stream().len()), (3, 3));
        let is_taken = |sent: Result<(), SendError>| match sent {
            Ok(()) => true,
            Err(error) => {
                assert_eq!(error, SendError::Failed(failure.clone()));
                false
            }
        };
        let taken = u64::from(is_taken(ours)) + u64::from(is_taken(others));
        assert_eq!(total(&failure), 4 * taken);
        end(writing);
    });
}

#[test]
fn who_waits_for_room_is_woken() {
    model(|| {
        let connection = connection(Strategy::Combine, 4);
        let writing = writing();
        let waiting = {
            let connection = Arc::clone(&connection);
            thread::spawn(move || {
                while let Err(error) = connection.send(b"1234") {
                    assert!(matches!(error, SendError::NoRoom { .. }), "{error}");
                    assert!(connection.wait_room(4, FOR_EVER));
                }
            })
        };
        connection
            .send(b"abcd")
            .or_else(|error| match error {
                SendError::NoRoom { held_bytes: 1..=4 } => Ok(()),
                error => Err(error),
            })
            .unwrap();
        assert!(connection.held_bytes() <= 4);
        waiting.join().unwrap();
        connection.flush(u64::MAX, FOR_EVER).unwrap();
        end(writing);
    });
}

#[test]
fn a_child_leaves_its_parent_s_locks_and_bytes_alone() {
    model(|| {
        let knobs = Knobs::new(Strategy::Combine);
        let fd = nowhere();
        let of_parent = super::connection_of(&fd, false, knobs).unwrap();
        let socket = Arc::new(CoalescingSocket {
            fd,
            knobs,
            connection: AtomicPtr::new(of_parent),
        });
        // SAFETY: it is never released.
        let of_parent = unsafe { &*of_parent };
        of_parent.lock_for_ever(b"parent's");
        fork();
        let writing = writing();
        let other = {
            let socket = Arc::clone(&socket);
            thread::spawn(move || socket.send(b"1234"))
        };
        socket.send(b"abcd").unwrap();
        other.join().unwrap().unwrap();
        socket.flush(Duration::MAX).unwrap();
        let bytes = stream();
        assert!(is_some_order(&bytes, &[b"abcd", b"1234"]), "{bytes:?}");
        end(writing);
    });
}
