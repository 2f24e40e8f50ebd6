//! Lines of /proc/net/tcp are read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_load::diag::parse_line;

fuzz_target!(|line: &str| {
    if let Err(fault) = parse_line(line) {
        assert!(fault.to_string().len() < 2_000);
    }
});
