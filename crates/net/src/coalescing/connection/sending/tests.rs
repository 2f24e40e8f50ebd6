//! The short way of many senders comes to the same as the long one, whatever the writing thread and the
//! socket do meanwhile. The thread's turns are the test's own, and no strategy here asks a clock.

use super::*;
use crate::coalescing::served::NextVisit;
use proptest::{
    prelude::{Just, Strategy as Any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest},
    test_runner::TestCaseError,
};
use std::{
    io::{ErrorKind, Read},
    os::{fd::OwnedFd, unix::net::UnixStream},
    time::Duration,
};
use tinygram_core::{Coalescer, Knobs, Strategy};

#[derive(Clone, Debug)]
enum Step {
    /// Send messages of these sizes, one by one, or at one go if true.
    Send(Vec<usize>, bool),
    /// The writing thread comes, if it owes the connection anything.
    Visit,
    /// The peer reads all that there is.
    Read,
    Flush,
    Close,
}

fn steps() -> impl Any<Value = Vec<Step>> {
    // An empty message brings nothing that the thread would have to come for.
    let sizes = prop_oneof![8 => 1usize..60, 1 => 1usize..9_000];
    let messages = prop::collection::vec(sizes, 1..12);
    let step = prop_oneof![
        12 => (messages, prop::bool::ANY).prop_map(|(sizes, at_once)| Step::Send(sizes, at_once)),
        6 => Just(Step::Visit),
        3 => Just(Step::Read),
        1 => Just(Step::Flush),
    ];
    let last = prop_oneof![4 => Just(Step::Visit), 1 => Just(Step::Close)];
    (prop::collection::vec(step, 0..80), last).prop_map(|(mut steps, last)| {
        let middle = steps.len() / 2;
        steps.insert(middle, last);
        steps
    })
}

fn knobs() -> impl Any<Value = Knobs> {
    let hold = Duration::from_secs(3_600);
    let strategies = prop_oneof![
        Just(Strategy::Combine),
        Just(Strategy::NoDelay),
        Just(Strategy::Coalesce { hold }),
    ];
    (strategies, 1usize..500, 1usize..20_000).prop_map(|(strategy, max_bytes, buffered_bytes)| {
        let mut knobs = Knobs::of_threads(strategy);
        knobs.max_bytes = max_bytes;
        knobs.max_buffered_bytes = Some(buffered_bytes);
        knobs
    })
}

/// A connection whose writing thread is the test, and what its peer has read.
struct Driven {
    connection: Connection,
    peer: UnixStream,
    received: Vec<u8>,
    sent: Vec<u8>,
    is_short: bool,
}

impl Driven {
    fn new(knobs: Knobs, is_short: bool) -> Self {
        let (near, peer) = UnixStream::pair().unwrap();
        rustix::net::sockopt::set_socket_send_buffer_size(&near, 4_096).unwrap();
        peer.set_nonblocking(true).unwrap();
        let mut rule = knobs;
        rule.max_buffered_bytes = None;
        let coalescer = Coalescer::of_threads(rule).unwrap();
        let most = knobs.max_buffered_bytes.unwrap();
        Self {
            connection: Connection::new(OwnedFd::from(near).into(), false, coalescer, most),
            peer,
            received: Vec::new(),
            sent: Vec::new(),
            is_short,
        }
    }

    /// Send each of the messages until one is not taken. Returns how many were.
    fn send(&mut self, sizes: &[usize], at_once: bool) -> usize {
        let mut taken = 0;
        for group in sizes.chunks(if at_once { sizes.len() } else { 1 }) {
            let messages: Vec<Vec<u8>> = group
                .iter()
                .enumerate()
                .map(|(index, &bytes)| vec![(self.sent.len() + index) as u8; bytes])
                .collect();
            let count = self.send_group(&messages);
            self.sent.extend(messages[..count].concat());
            taken += count;
            if count < group.len() {
                break;
            }
        }
        taken
    }

    fn send_group(&self, messages: &[Vec<u8>]) -> usize {
        let mut left = messages;
        if self.is_short {
            while let Some((message, rest)) = left.split_first() {
                if !self.connection.hold_with_others(message) {
                    break;
                }
                left = rest;
            }
        }
        while !left.is_empty() {
            let mut state = self.connection.lock();
            // The long way has the room closed before each message.
            let group = if self.is_short { left } else { &left[..1] };
            let mut group = group.iter().map(Vec::as_slice);
            let (count, sent) = self.connection.take_batch(&mut state, &mut group);
            if state.must_hurry() {
                state.duty = Duty::Soon;
            }
            left = &left[count..];
            if sent.is_err() {
                break;
            }
        }
        messages.len() - left.len()
    }

    /// The writing thread's turns, as long as it is told to come again at once.
    fn visit(&self) {
        while self.connection.lock().duty != Duty::None
            && matches!(self.connection.write_due(), NextVisit::Again)
        {}
    }

    fn read(&mut self) {
        let mut chunk = [0; 1 << 16];
        loop {
            match self.peer.read(&mut chunk) {
                Ok(0) => return,
                Ok(count) => self.received.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn flush(&self) {
        let mut state = self.connection.lock();
        state.flush_until = state.handed_over_bytes();
        if state.must_hurry() {
            state.duty = Duty::Soon;
        }
    }

    fn take(&mut self, step: &Step) -> usize {
        match step {
            Step::Send(sizes, at_once) => return self.send(sizes, *at_once),
            Step::Visit => self.visit(),
            Step::Read => self.read(),
            Step::Flush => self.flush(),
            Step::Close => self.connection.close(),
        }
        0
    }

    fn check(&self, most: usize) -> Result<(), TestCaseError> {
        let state = self.connection.lock();
        // One message that is larger is taken while nothing is held.
        prop_assert!(state.held_bytes() <= most.max(9_000));
        prop_assert_eq!(state.handed_over_bytes(), self.sent.len() as u64);
        // What the thread will not come for is not held.
        prop_assert!(state.duty != Duty::None || state.held_bytes() == 0);
        Ok(())
    }
}

proptest! {
    #[test]
    fn the_short_way_of_many_senders_comes_to_the_same_as_the_long_one(
        knobs in knobs(),
        steps in steps(),
    ) {
        let (mut short, mut long) = (Driven::new(knobs, true), Driven::new(knobs, false));
        for step in &steps {
            prop_assert_eq!(short.take(step), long.take(step), "{:?}", step);
            for each in [&short, &long] {
                each.check(knobs.max_buffered_bytes.unwrap())?;
            }
            let [short, long] = [&short, &long].map(|each| each.connection.lock());
            prop_assert_eq!(short.coalescer.pending(), long.coalescer.pending());
            prop_assert_eq!(short.taken.bytes, long.taken.bytes);
            if short.held_bytes() > 0 {
                // For many messages at one go the thread is told once, if the sender did not write.
                prop_assert_eq!(short.duty, long.duty);
            }
            prop_assert_eq!(short.written_bytes, long.written_bytes);
            let [short, long] = [short, long].map(|state| state.coalescer.stats().clone());
            prop_assert_eq!((short.messages, short.writes), (long.messages, long.writes));
        }
        for driven in [&mut short, &mut long] {
            driven.flush();
            while driven.connection.held_bytes() > 0 {
                driven.visit();
                driven.read();
            }
            driven.read();
            prop_assert_eq!(&driven.received, &driven.sent);
        }
    }
}
