//! A packet that the relay carries is read as the segment that it is, or refused: nothing beyond its end is
//! looked at, and what comes behind the headers' fields makes no difference.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_link::Segment;

const LEAST_WORDS: u8 = 5;
const WORD_BYTES: usize = 4;
const TCP: u8 = 6;
/// The fields of TCP that are read end with its own length.
const TCP_FIELDS_BYTES: usize = 13;

type Fields = (u16, u16, u32, u32);

// `words`: the length of the headers of IPv4 and of TCP; `edits`: (offset, byte) written over the packet.
fuzz_target!(|input: (Fields, (u8, u8), u8, Vec<(u16, u8)>, u16)| {
    let ((from, to, first, acknowledged), (ipv4_words, tcp_words), data_bytes, edits, length) =
        input;
    let ipv4_bytes = usize::from(LEAST_WORDS + ipv4_words % 11) * WORD_BYTES;
    let tcp_bytes = usize::from(LEAST_WORDS + tcp_words % 11) * WORD_BYTES;
    let whole_bytes = ipv4_bytes + tcp_bytes + usize::from(data_bytes);
    let mut packet = vec![0; whole_bytes];
    packet[0] = 0x40 | (ipv4_bytes / WORD_BYTES) as u8;
    packet[2..4].copy_from_slice(&(whole_bytes as u16).to_be_bytes());
    packet[9] = TCP;
    let tcp = &mut packet[ipv4_bytes..];
    tcp[0..2].copy_from_slice(&from.to_be_bytes());
    tcp[2..4].copy_from_slice(&to.to_be_bytes());
    tcp[4..8].copy_from_slice(&first.to_be_bytes());
    tcp[8..12].copy_from_slice(&acknowledged.to_be_bytes());
    tcp[12] = ((tcp_bytes / WORD_BYTES) as u8) << 4;
    let sent = Segment {
        from,
        to,
        first,
        acknowledged,
        has_data: data_bytes > 0,
    };
    let is_edited = !edits.is_empty();
    for (offset, byte) in edits {
        packet[usize::from(offset) % whole_bytes] = byte;
    }
    packet.truncate(length.into());
    let found = Segment::of(&packet);
    if !is_edited {
        let is_enough = packet.len() >= ipv4_bytes + TCP_FIELDS_BYTES;
        assert_eq!(found, is_enough.then_some(sent));
    }
    if let Some(found) = found {
        let at = usize::from(packet[0] & 0xf) * WORD_BYTES;
        assert_eq!(packet[9], TCP);
        assert_eq!(packet[at..at + 2], found.from.to_be_bytes());
        packet.truncate(at + TCP_FIELDS_BYTES);
        assert_eq!(Segment::of(&packet), Some(found));
    }
});
