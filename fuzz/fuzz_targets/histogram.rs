//! A result file's histograms are read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_core::Histogram;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(histogram) = Histogram::from_bytes(bytes) {
        assert!(histogram.percentile_ns(50.0) <= histogram.percentile_ns(100.0));
    }
});
