//! A subscriber takes publications for whole exactly if they are those that were sent, however the wire
//! cuts them; when each was due, another place compares.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use tinygram_load::messages::{Follower, HEADER_BYTES, Publications};

const BYTES: usize = 21;
const COUNT: u64 = 9;
const DUE: std::ops::Range<usize> = 8..HEADER_BYTES;

static SENT: LazyLock<(Publications, Vec<u8>)> = LazyLock::new(|| {
    let publications = Publications::new(1, BYTES).expect("there is room for a header");
    let stream = (0..COUNT)
        .flat_map(|number| publications.message(number, number + 7))
        .collect();
    (publications, stream)
});

// `cuts`: where the wire cuts the stream; `edits`: (offset, byte) written over what was sent.
fuzz_target!(|input: (Vec<u8>, Vec<(u8, u8)>, u8)| {
    let (cuts, edits, length) = input;
    let (publications, sent) = &*SENT;
    let mut received = sent.clone();
    for (offset, byte) in edits {
        let at = usize::from(offset) % received.len();
        received[at] = byte;
    }
    received.truncate(usize::from(length));
    let mut follower = Follower::default();
    let mut whole = Vec::new();
    let mut rest = &received[..];
    let mut outcome = Ok(());
    for cut in cuts.into_iter().chain([u8::MAX]) {
        let (now, later) = rest.split_at(usize::from(cut).min(rest.len()));
        outcome = outcome.and_then(|()| {
            follower.push(now, publications, |number, due| whole.push((number, due)))
        });
        rest = later;
    }
    // A header is looked at when all of it is here.
    let header = Some(received.len() % BYTES).filter(|&part| part < HEADER_BYTES);
    let is_sent = received[..received.len() - header.unwrap_or(0)]
        .iter()
        .zip(sent)
        .enumerate()
        .all(|(at, (found, was))| found == was || DUE.contains(&(at % BYTES)));
    assert_eq!(outcome.is_ok(), is_sent);
    assert_eq!(follower.received(), whole.len() as u64);
    assert!(
        whole
            .iter()
            .zip(0..)
            .all(|((number, _), expected)| *number == expected)
    );
    if outcome.is_ok() {
        assert_eq!(whole.len(), received.len() / BYTES);
        assert_eq!(follower.is_amidst(), !received.len().is_multiple_of(BYTES));
    }
});
