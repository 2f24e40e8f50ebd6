//! Notes from any receiver are read or refused; matching never loops or panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_load::messages::{Note, match_receipts};

fuzz_target!(|input: (Vec<u8>, Vec<(u32, u32)>, u64)| {
    let (stored, sizes, bound_ns) = input;
    let Ok(notes) = Note::parse_all(&stored) else {
        return;
    };
    let messages = sizes.iter().scan(0u64, |end, &(size, at_ns)| {
        *end += u64::from(size);
        Some((0, *end, u64::from(at_ns)))
    });
    let mut last_ns = 0;
    let _unreached_and_early_are_errors = match_receipts(&notes, messages, bound_ns, |found| {
        assert!(found.receipt_ns >= last_ns);
        last_ns = found.receipt_ns;
    });
});
