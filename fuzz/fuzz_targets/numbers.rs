//! Connections of a stream are kept by the numbers that they bring: each of them once, in no more places
//! than there are, and never by a part of a number.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use tinygram_load::stream::numbers::{NUMBER_BYTES, Numbered, number_of};

// What each connection brings: bytes, or a number that is mostly one of theirs.
fuzz_target!(|input: (u8, Vec<Result<Vec<u8>, u8>>)| {
    let (count, brought) = input;
    let mut numbered = Numbered::new(count.into());
    let mut known = BTreeMap::new();
    for (connection, brings) in brought.into_iter().enumerate() {
        let bytes = brings.unwrap_or_else(|number| u32::from(number).to_le_bytes().to_vec());
        let mut rest = &bytes[..];
        let Ok(number) = number_of(&mut rest) else {
            assert!(bytes.len() < NUMBER_BYTES);
            continue;
        };
        assert_eq!(number.to_le_bytes()[..NUMBER_BYTES], bytes[..NUMBER_BYTES]);
        assert_eq!(rest, &bytes[NUMBER_BYTES..]);
        let is_free = number < count.into() && !known.contains_key(&number);
        assert_eq!(numbered.put(number, connection).is_ok(), is_free);
        if is_free {
            known.insert(number, connection);
        }
        assert_eq!(numbered.missing(), usize::from(count) - known.len());
    }
    let places = numbered.into_places();
    assert_eq!(places.len(), usize::from(count));
    for (number, place) in places.iter().enumerate() {
        assert_eq!(place.as_ref(), known.get(&number));
    }
});
