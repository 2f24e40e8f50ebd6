//! A stream passes exactly if it is the one that was sent, however the wire cuts it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use tinygram_load::messages::{MessagePool, StreamCheck};

const MESSAGES: u64 = 20;

static SENT: LazyLock<(MessagePool, Vec<u8>)> = LazyLock::new(|| {
    let pool = MessagePool::generate(1, 1, 9).expect("valid sizes");
    let stream = (0..MESSAGES)
        .flat_map(|i| pool.message(i).to_vec())
        .collect();
    (pool, stream)
});

// `cuts`: where the wire cuts the stream; `edits`: (offset, byte) written over what was sent.
fuzz_target!(|input: (Vec<u8>, Vec<(u8, u8)>, u8)| {
    let (cuts, edits, length) = input;
    let (pool, sent) = &*SENT;
    let mut received = sent.clone();
    for (offset, byte) in edits {
        let at = usize::from(offset) % received.len();
        received[at] = byte;
    }
    received.resize(usize::from(length), 0);
    let mut check = StreamCheck::new(pool.clone(), MESSAGES);
    let mut rest = &received[..];
    let mut outcome = Ok(());
    for cut in cuts {
        let (now, later) = rest.split_at(usize::from(cut).min(rest.len()));
        outcome = outcome.and_then(|()| check.push(now));
        rest = later;
    }
    let outcome = outcome
        .and_then(|()| check.push(rest))
        .and_then(|()| check.finish());
    assert_eq!(outcome.is_ok(), received == *sent);
});
