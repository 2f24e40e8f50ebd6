//! A result file's histograms are read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_core::Histogram;

fuzz_target!(|text: &str| {
    if let Ok(histogram) = Histogram::from_base64(text) {
        assert!(histogram.percentile_ns(50.0) <= histogram.percentile_ns(100.0));
    }
});
