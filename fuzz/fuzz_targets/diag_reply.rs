//! The kernel's answers on sockets are read or refused, and never keep more than came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_load::diag::{Held, Wanted, parse_reply};

const SEQUENCE: u32 = 7;
const HEADER_BYTES: usize = 16;
const SOCKET_BYTES: usize = 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// One more than the largest that is known.
const ATTRIBUTE_KINDS: u16 = 8;

type Attribute<'a> = (u16, &'a [u8]);
type Socket<'a> = ([u8; SOCKET_BYTES], Vec<Attribute<'a>>);

// `edits`: (offset, byte) written over what the kernel would say, lengths and kinds included.
fuzz_target!(|input: (Option<u16>, Vec<Socket>, Vec<(u16, u8)>)| {
    let (port, sockets, edits) = input;
    let mut datagram = Vec::new();
    for socket in sockets {
        append_message(&mut datagram, socket);
    }
    for (offset, byte) in edits {
        if let Some(at) = usize::from(offset).checked_rem(datagram.len()) {
            datagram[at] = byte;
        }
    }
    let mut held = Held::default();
    let wanted = Wanted { port, inodes: None };
    let mut count = 0;
    let _refused_or_not = parse_reply(&datagram, SEQUENCE, |socket| {
        count += 1;
        held.take(&wanted, socket);
    });
    assert!(count * (HEADER_BYTES + SOCKET_BYTES) <= datagram.len());
    assert!(held.sockets.len() <= count);
});

/// A socket as the kernel tells it: lengths that are right, IPv4 or IPv6, mostly a known state.
fn append_message(datagram: &mut Vec<u8>, (mut socket, attributes): Socket) {
    socket[0] = if socket[0] % 2 == 0 { 2 } else { 10 };
    socket[1] %= 14;
    let mut body = socket.to_vec();
    for (kind, value) in attributes {
        let value = &value[..value.len().min(1_000)];
        body.extend((4 + value.len() as u16).to_ne_bytes());
        body.extend((kind % ATTRIBUTE_KINDS).to_ne_bytes());
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    datagram.extend(((HEADER_BYTES + body.len()) as u32).to_ne_bytes());
    datagram.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    datagram.extend([0; 2]);
    datagram.extend(SEQUENCE.to_ne_bytes());
    datagram.extend([0; 4]);
    datagram.extend(body);
}
