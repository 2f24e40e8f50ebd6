//! A caller's replies are counted, and pass exactly if they are those of its requests, however the wire
//! cuts them; otherwise the first reply with a wrong byte is named.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_load::messages::{CallContent, ReplyReader};

/// More than all different replies where they are short, and more than is compared at once where they are long.
const MOST_BYTES: usize = 5_000;

// `cuts`: where the wire cuts; `edits`: (offset, byte) written over what was sent.
fuzz_target!(|input: (u16, Vec<u16>, Vec<(u16, u8)>, u16)| {
    let (reply_bytes, cuts, edits, length) = input;
    let Ok(content) = CallContent::of_any_bytes(1, reply_bytes.into()) else {
        assert_eq!(reply_bytes, 0);
        return;
    };
    let reply_bytes = u64::from(reply_bytes);
    // As the documentation has it: byte j of reply i is (i + j) modulo 251.
    let sent: Vec<u8> = (0..MOST_BYTES as u64)
        .map(|offset| ((offset / reply_bytes + offset % reply_bytes) % 251) as u8)
        .collect();
    let mut received = sent.clone();
    for (offset, byte) in edits {
        received[usize::from(offset) % MOST_BYTES] = byte;
    }
    received.truncate(length.into());
    let wrong = received
        .iter()
        .zip(&sent)
        .position(|(found, was)| found != was);
    let wrong = wrong.map(|offset| offset as u64 / reply_bytes);
    let mut reader = ReplyReader::default();
    let (mut rest, mut completed) = (&received[..], 0);
    for cut in cuts.into_iter().chain([u16::MAX]) {
        let (now, later) = rest.split_at(usize::from(cut).min(rest.len()));
        match reader.push(&content, now) {
            Ok(more) => completed += more,
            Err(index) => {
                assert_eq!(Some(index), wrong);
                return;
            }
        }
        rest = later;
        assert_eq!(completed, reader.replies(&content));
    }
    assert_eq!(wrong, None);
    assert_eq!(completed, received.len() as u64 / reply_bytes);
    assert_eq!(
        reader.partial_bytes(&content),
        received.len() as u64 % reply_bytes
    );
});
