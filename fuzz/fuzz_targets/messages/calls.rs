//! A server's requests are counted, and pass exactly if they are those that were sent, however the
//! wire cuts them; what it owes is never more than one reply for each.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_load::messages::{CallContent, ContentError, RequestReader};

const REQUESTS: u64 = 5;

// `cuts`: where the wire cuts; `edits`: (offset, byte) written over what was sent.
fuzz_target!(|input: (u8, u8, Vec<u8>, Vec<(u16, u8)>, u16)| {
    let (request_bytes, reply_bytes, cuts, edits, length) = input;
    let Ok(content) = CallContent::generate(1, request_bytes.into(), reply_bytes.into()) else {
        assert!(request_bytes == 0 || reply_bytes == 0);
        return;
    };
    let sent: Vec<u8> = (0..REQUESTS)
        .flat_map(|index| content.request(index).to_vec())
        .collect();
    let mut received = sent.clone();
    for (offset, byte) in edits {
        let at = usize::from(offset) % received.len();
        received[at] = byte;
    }
    received.truncate(length.into());
    let mut reader = RequestReader::default();
    let mut rest = &received[..];
    let mut outcome: Result<u64, ContentError> = Ok(0);
    for cut in cuts {
        let (now, later) = rest.split_at(usize::from(cut).min(rest.len()));
        outcome = outcome.and_then(|so_far| Ok(so_far + reader.push(&content, now)?));
        rest = later;
    }
    let outcome = outcome.and_then(|so_far| Ok(so_far + reader.push(&content, rest)?));
    assert_eq!(outcome.is_ok(), sent.starts_with(&received));
    if let Ok(completed) = outcome {
        assert_eq!(completed, received.len() as u64 / u64::from(request_bytes));
    }
});
