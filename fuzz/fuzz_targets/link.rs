//! What a link's devices hand over is read or refused, and what is read is no longer than what came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_link::Framing;

fuzz_target!(|bytes: &[u8]| {
    for framing in [Framing::Tun, Framing::Ethernet] {
        if let Some(load) = framing.load(bytes) {
            assert!(framing.header_bytes() + load.bytes as usize <= bytes.len());
        }
    }
    if let Some(load) = Framing::TunOffload.load(bytes) {
        // What came, and headers of IPv4 and TCP for each further segment.
        let came = u32::from(u16::from_be_bytes([bytes[12], bytes[13]]));
        let headers = (load.packets - 1) * 40..=(load.packets - 1) * 120;
        assert!(came as usize <= bytes.len() && headers.contains(&(load.bytes - came)));
    }
});
