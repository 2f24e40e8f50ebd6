//! What a link's devices hand over, and the kernel's answers on routes, are read or refused; and what
//! is read is no longer than what came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_link::{Framing, MAX_NETWORKS, parse_routes, unrouted_networks};

const SMALLEST_ROUTE_BYTES: usize = 16 + 12;

fuzz_target!(|input: (u32, usize, Vec<u8>)| {
    let (sequence, count, bytes) = input;
    for framing in [Framing::Tun, Framing::Ethernet] {
        if let Some(load) = framing.load(&bytes) {
            assert!(framing.header_bytes() + load.bytes as usize <= bytes.len());
        }
    }
    if let Some(load) = Framing::TunOffload.load(&bytes) {
        // What came, and headers of IPv4 and TCP for each further segment.
        let came = u32::from(u16::from_be_bytes([bytes[12], bytes[13]]));
        let headers = (load.packets - 1) * 40..=(load.packets - 1) * 120;
        assert!(came as usize <= bytes.len() && headers.contains(&(load.bytes - came)));
    }
    let mut routes = Vec::new();
    let _refused_or_not = parse_routes(&bytes, sequence, |route| routes.push(route));
    assert!(routes.len() * SMALLEST_ROUTE_BYTES <= bytes.len());
    let count = count % (MAX_NETWORKS + 1);
    if let Some(found) = unrouted_networks(&routes, count) {
        assert_eq!(found.len(), count);
        assert!(found.iter().flatten().all(|address| address.is_private()));
    }
});
