use super::Note;
use crate::schedule::Slices;

/// The messages of one slice that a receiver got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Messages that became whole in the slice's middle.
    pub messages: u64,
    /// How long after the slice's end its last read came, in nanoseconds.
    pub late_ns: u64,
}

/// The messages that came in the middle of each slice: from `from_ns` after it has begun until `until_ns`.
/// `whole_messages` says how many messages are whole in so many bytes of the stream.
///
/// The time is that of the middle, and not from its first read to its last: if a line delivers in bursts
/// that are a round trip apart, the middle may have a single read.
pub fn received_in_slices(
    notes: &[Note],
    whole_messages: impl Fn(u64) -> u64,
    start_ns: u64,
    slices: &Slices,
    from_ns: u64,
    until_ns: u64,
) -> Vec<Received> {
    let before = |at_ns: u64| notes.partition_point(|note| note.at_ns < start_ns + at_ns);
    let whole_before = |at_ns: u64| match before(at_ns) {
        0 => 0,
        read => whole_messages(notes[read - 1].bytes),
    };
    let next_begin_ns = |slice: usize| match slice + 1 {
        next if next < slices.count() => slices.begin_ns(next),
        _ => u64::MAX - start_ns,
    };
    (0..slices.count())
        .map(|slice| {
            let begin_ns = slices.begin_ns(slice);
            let last = notes[before(begin_ns)..before(next_begin_ns(slice))].last();
            let end_ns = start_ns + slices.end_ns(slice);
            Received {
                messages: whole_before(begin_ns + until_ns) - whole_before(begin_ns + from_ns),
                late_ns: last.map_or(0, |last| last.at_ns.saturating_sub(end_ns)),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_whole_in_the_middle_of_a_slice_is_counted_and_nothing_else() {
        let note = |at_ns, bytes| Note { bytes, at_ns };
        let notes = [
            note(1_105, 10), // settles
            note(1_112, 20),
            note(1_130, 60),
            note(1_141, 90),  // closed by now
            note(1_155, 100), // late
            note(1_512, 130),
        ];
        let slices = Slices::new(vec![100, 500, 900], 50).unwrap();
        let received = received_in_slices(&notes, |bytes| bytes / 10, 1_000, &slices, 10, 40);
        let expected =
            [(5, 5), (3, 0), (0, 0)].map(|(messages, late_ns)| Received { messages, late_ns });
        assert_eq!(received, expected);
    }
}
