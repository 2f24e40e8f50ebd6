//! A stream on many connections passes exactly if it is the one that was sent on each of them, however
//! their bytes are cut and in whatever order they come.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use tinygram_load::messages::{MessagePool, Spread, arrivals};

const MESSAGES: u64 = 20;
const CONNECTIONS: usize = 3;

static SENT: LazyLock<(MessagePool, Vec<Vec<u8>>)> = LazyLock::new(|| {
    let pool = MessagePool::generate(1, 1, 9)
        .expect("valid sizes")
        .spread_over(CONNECTIONS as u64);
    let streams = (0..CONNECTIONS as u64)
        .map(|first| {
            (first..MESSAGES)
                .step_by(CONNECTIONS)
                .flat_map(|index| pool.message(index).to_vec())
                .collect()
        })
        .collect();
    (pool, streams)
});

// `cuts`: which connection is read next, and how many bytes of it; `edits`: (connection, offset, byte)
// written over what was sent; `missing`: how many bytes of the last connection do not come.
fuzz_target!(|input: (Vec<(u8, u8)>, Vec<(u8, u8, u8)>, u8)| {
    let (cuts, edits, missing) = input;
    let (pool, sent) = &*SENT;
    let mut received = sent.clone();
    for (connection, offset, byte) in edits {
        let stream = &mut received[usize::from(connection) % CONNECTIONS];
        let at = usize::from(offset) % stream.len();
        stream[at] = byte;
    }
    let last = &mut received[CONNECTIONS - 1];
    last.truncate(last.len().saturating_sub(usize::from(missing)));
    let mut spread = Spread::new(pool.clone(), MESSAGES, false);
    let mut at = [0; CONNECTIONS];
    let all = (0..CONNECTIONS).map(|connection| (connection as u8, u8::MAX));
    let mut outcome = Ok(());
    for (connection, cut) in cuts.into_iter().chain(all.cycle().take(4 * CONNECTIONS)) {
        let connection = usize::from(connection) % CONNECTIONS;
        let rest = &received[connection][at[connection]..];
        let now = &rest[..usize::from(cut).min(rest.len())];
        at[connection] += now.len();
        outcome = outcome.and_then(|()| spread.push(connection, now));
    }
    let outcome = outcome.and_then(|()| spread.finish());
    assert_eq!(outcome.is_ok(), received == *sent);
    assert!(arrivals(pool, spread.turns()).all(|(index, _)| index < MESSAGES));
});
