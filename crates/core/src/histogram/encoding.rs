//! The standard V2 form of a histogram (<http://hdrhistogram.org>): a head, and a number for each
//! count, or for a row of empty ones.
//!
//! This is our own code, for the `hdrhistogram` crate's brings a decompressor and a parser of logs
//! along: an eighth of the Python module.

use super::HistogramError;

const COOKIE: u32 = 0x1c84_9313;
const HEAD_BYTES: usize = 40;
/// The largest number of significant digits that is read: with more, counts take up to 49 MB.
const MAX_DIGITS: u32 = 3;
/// The ninth byte of a number has eight bits of it, the others have seven.
const LAST_SHIFT: u32 = 56;

pub(super) fn encoded(histogram: &hdrhistogram::Histogram<u64>) -> Vec<u8> {
    let mut counts = Vec::new();
    let (mut left, mut empty) = (histogram.len(), 0_i64);
    for step in histogram.iter_all() {
        if left == 0 {
            break;
        }
        let count = step.count_at_value();
        if count == 0 {
            empty += 1;
            continue;
        }
        match std::mem::take(&mut empty) {
            0 => {}
            1 => push_number(&mut counts, 0),
            row => push_number(&mut counts, -row),
        }
        push_number(&mut counts, i64::try_from(count).unwrap_or(i64::MAX));
        left -= count;
    }
    if histogram.is_empty() {
        push_number(&mut counts, 0);
    }
    let length = u32::try_from(counts.len()).expect("there are fewer counts than 2²⁴");
    let mut bytes = Vec::with_capacity(HEAD_BYTES + counts.len());
    for number in [COOKIE, length, 0, u32::from(histogram.sigfig())] {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    for bound in [histogram.low(), histogram.high()] {
        bytes.extend_from_slice(&bound.to_be_bytes());
    }
    bytes.extend_from_slice(&1.0_f64.to_be_bytes());
    bytes.extend_from_slice(&counts);
    bytes
}

pub(super) fn decoded(bytes: &[u8]) -> Result<hdrhistogram::Histogram<u64>, HistogramError> {
    let Some((head, mut counts)) = bytes.split_at_checked(HEAD_BYTES) else {
        return Err(HistogramError("it ends early"));
    };
    let [cookie, length, offset, digits] =
        [0, 4, 8, 12].map(|at| u32::from_be_bytes(part(head, at)));
    let [low, high] = [16, 24].map(|at| u64::from_be_bytes(part(head, at)));
    if cookie != COOKIE {
        return Err(HistogramError("it begins with other bytes"));
    }
    if offset != 0 || f64::from_be_bytes(part(head, 32)) != 1.0 {
        return Err(HistogramError("its values are shifted or scaled"));
    }
    if usize::try_from(length) != Ok(counts.len()) {
        return Err(HistogramError("its length is another"));
    }
    if digits > MAX_DIGITS {
        return Err(HistogramError("it has more than 3 significant digits"));
    }
    let refused = HistogramError("its bounds are impossible");
    let mut found =
        hdrhistogram::Histogram::new_with_bounds(low, high, digits as u8).map_err(|_| refused)?;
    let values = found.clone();
    let mut values = values.iter_all().map(|step| step.value_iterated_to());
    let too_many = HistogramError("it has more counts than its bounds allow");
    while !counts.is_empty() {
        let number = take_number(&mut counts).ok_or(HistogramError("it ends early"))?;
        // A negative number is the length of a row of empty counts.
        let step = usize::try_from(number.min(-1).unsigned_abs()).map_err(|_| too_many)?;
        let value = values.nth(step - 1).ok_or(too_many)?;
        if number > 0 {
            found.saturating_record_n(value, number.unsigned_abs());
        }
    }
    Ok(found)
}

fn part<const N: usize>(head: &[u8], at: usize) -> [u8; N] {
    head[at..at + N]
        .try_into()
        .expect("the head is long enough")
}

/// ZigZag, then LEB128 in nine bytes at most.
fn push_number(bytes: &mut Vec<u8>, number: i64) {
    let mut left = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 0..LAST_SHIFT / 7 {
        if left < 0x80 {
            break;
        }
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<i64> {
    let (mut number, mut shift) = (0_u64, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if shift == LAST_SHIFT {
            number |= u64::from(byte) << shift;
            break;
        }
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
    use proptest::prelude::*;

    fn made(values: &[(u64, u64)], digits: u8) -> hdrhistogram::Histogram<u64> {
        let mut histogram =
            hdrhistogram::Histogram::new_with_bounds(1, 3_600_000_000_000, digits).unwrap();
        for &(value, count) in values {
            histogram.saturating_record_n(value, count);
        }
        histogram
    }

    proptest! {
        #[test]
        fn it_is_the_form_that_the_crate_writes_and_reads(
            values in proptest::collection::vec((0u64..4_000_000_000_000, 1u64..1 << 40), 0..60),
            digits in 1u8..4,
        ) {
            let histogram = made(&values, digits);
            let bytes = encoded(&histogram);
            let mut theirs = Vec::new();
            V2Serializer::new().serialize(&histogram, &mut theirs).unwrap();
            prop_assert_eq!(&bytes, &theirs);
            prop_assert_eq!(&decoded(&bytes).unwrap(), &histogram);
            let read: hdrhistogram::Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            prop_assert_eq!(read, histogram);
        }

        #[test]
        fn numbers_of_any_size_come_back(number: i64) {
            let mut bytes = Vec::new();
            push_number(&mut bytes, number);
            prop_assert_eq!(take_number(&mut bytes.as_slice()), Some(number));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decoded(&bytes);
        }
    }

    #[test]
    fn what_was_cut_or_changed_is_refused() {
        let bytes = encoded(&made(&[(5, 7), (900_000, 1 << 20)], 3));
        for length in 0..bytes.len() {
            assert!(decoded(&bytes[..length]).is_err());
        }
        for at in [0, 7, 8, 15, 32] {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            assert!(decoded(&changed).is_err(), "byte {at}");
        }
    }
}
