use super::Note;
use crate::schedule::Slices;

/// What a receiver got of one slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Messages that were whole with the last read in its middle, and not yet with the first.
    pub messages: u64,
    /// The time between these two reads, in nanoseconds.
    pub ns: u64,
    /// How long after its end the last read of it came, in nanoseconds.
    pub late_ns: u64,
}

/// What came in the middle of each slice: after `settling_ns` of it, and before `open_ns` of it were
/// over. `whole_messages` says how many messages are whole in so many bytes of the stream.
pub fn received_in_slices(
    notes: &[Note],
    whole_messages: impl Fn(u64) -> u64,
    start_ns: u64,
    slices: &Slices,
    settling_ns: u64,
    open_ns: u64,
) -> Vec<Received> {
    let before = |at_ns: u64| notes.partition_point(|note| note.at_ns < start_ns + at_ns);
    let next_begin_ns = |slice: usize| match slice + 1 {
        next if next < slices.count() => slices.begin_ns(next),
        _ => u64::MAX - start_ns,
    };
    (0..slices.count())
        .map(|slice| {
            let begin_ns = slices.begin_ns(slice);
            let middle = &notes[before(begin_ns + settling_ns)..before(begin_ns + open_ns)];
            let (messages, ns) = match (middle.first(), middle.last()) {
                (Some(first), Some(last)) => (
                    whole_messages(last.bytes) - whole_messages(first.bytes),
                    last.at_ns - first.at_ns,
                ),
                _ => (0, 0),
            };
            let last = notes[before(begin_ns)..before(next_begin_ns(slice))].last();
            let end_ns = start_ns + slices.end_ns(slice);
            Received {
                messages,
                ns,
                late_ns: last.map_or(0, |last| last.at_ns.saturating_sub(end_ns)),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_slice_is_from_its_first_read_there_to_its_last() {
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
        let expected = [(4, 18, 5), (0, 0, 0), (0, 0, 0)].map(|(messages, ns, late_ns)| Received {
            messages,
            ns,
            late_ns,
        });
        assert_eq!(received, expected);
    }
}
