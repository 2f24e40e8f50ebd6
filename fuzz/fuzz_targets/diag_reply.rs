//! The kernel's answers on sockets are read or refused, and never keep more than came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_net::bench::diag::{Held, Wanted, parse_reply};

const SMALLEST_SOCKET_BYTES: usize = 16 + 72;

fuzz_target!(|input: (u32, Option<u16>, Vec<u8>)| {
    let (sequence, port, datagram) = input;
    let mut held = Held::default();
    let wanted = Wanted { port, inodes: None };
    let mut count = 0;
    let _refused_or_not = parse_reply(&datagram, sequence, |socket| {
        count += 1;
        held.take(&wanted, socket);
    });
    assert!(count * SMALLEST_SOCKET_BYTES <= datagram.len());
    assert!(held.sockets.len() <= count);
});
