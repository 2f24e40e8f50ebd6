use thiserror::Error;

/// A receiver's note after a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The bytes received so far, this read included.
    pub bytes: u64,
    /// CLOCK_MONOTONIC after the read returned, in nanoseconds.
    pub at_ns: u64,
}

impl Note {
    /// Read notes from their stored form: pairs of little-endian u64 (bytes, nanoseconds).
    ///
    /// # Errors
    /// [`MatchError::Truncated`], [`MatchError::Backwards`].
    pub fn parse_all(stored: &[u8]) -> Result<Vec<Note>, MatchError> {
        if stored.len() % 16 != 0 {
            return Err(MatchError::Truncated {
                length: stored.len(),
            });
        }
        let word = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().expect("8 bytes"));
        let notes: Vec<Note> = stored
            .chunks_exact(16)
            .map(|pair| Note {
                bytes: word(&pair[..8]),
                at_ns: word(&pair[8..]),
            })
            .collect();
        for (index, pair) in notes.windows(2).enumerate() {
            if pair[1].bytes <= pair[0].bytes || pair[1].at_ns < pair[0].at_ns {
                return Err(MatchError::Backwards { index: index + 1 });
            }
        }
        Ok(notes)
    }
}

/// Notes and messages do not fit together.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum MatchError {
    /// The stored notes are cut off.
    #[error("the notes' {length} bytes are not a whole number of 16-byte notes")]
    Truncated {
        /// Bytes stored.
        length: usize,
    },
    /// A note counts no new byte, or its time is before that of the note before it.
    #[error("note {index} goes backwards")]
    Backwards {
        /// Which note, from 0.
        index: usize,
    },
    /// No note reaches the end of a message.
    #[error("no note reaches byte {end}, the end of message {index}")]
    Unreached {
        /// Which message of the stream, from 0.
        index: u64,
        /// The stream offset that the message ends at.
        end: u64,
    },
    /// A message arrived before it was sent, by more than the clocks explain: they, or the offsets,
    /// are wrong.
    #[error(
        "message {index} was received {early_ns} ns before it was released{}",
        wrong_by(*.bound_ns)
    )]
    Early {
        /// Which message of the stream, from 0.
        index: u64,
        /// By how much, in nanoseconds.
        early_ns: u64,
        /// By how much the times may be wrong, in nanoseconds.
        bound_ns: u64,
    },
}

/// By how much times may be wrong, for an error; empty where one clock took them.
fn wrong_by(bound_ns: u64) -> String {
    match bound_ns {
        0 => String::new(),
        _ => format!(", by times that may be wrong by {bound_ns} ns"),
    }
}

/// A message that was matched to a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// The time it was released, in nanoseconds.
    pub released_ns: u64,
    /// The time of its receipt, in nanoseconds. Where two clocks took the two times, it may seem to
    /// lie before the release.
    pub receipt_ns: u64,
}

impl Match {
    /// How long the message took; 0 where it seems to have come before it was released: that is nearer
    /// to the truth than less than nothing.
    #[must_use]
    pub fn latency_ns(&self) -> u64 {
        self.receipt_ns.saturating_sub(self.released_ns)
    }
}

/// Match messages to notes: a message's receipt is the time of the first note that reaches its
/// last byte. Calls `on_match` for each message. Returns by how much a message came before it was
/// released, at most, in nanoseconds.
///
/// `messages` are (index in the stream, offset that the message ends at, time it was released),
/// with ends that never decrease. `bound_ns`: by how much the notes' times may be wrong beside those of
/// the releases; 0 where one clock took both.
///
/// # Errors
/// [`MatchError::Unreached`], and [`MatchError::Early`] by more than the bound.
pub fn match_receipts(
    notes: &[Note],
    messages: impl IntoIterator<Item = (u64, u64, u64)>,
    bound_ns: u64,
    mut on_match: impl FnMut(Match),
) -> Result<u64, MatchError> {
    let mut next = 0;
    let mut most_early_ns = 0;
    for (index, end, released_ns) in messages {
        // `while`, not `if`: one message may lie several notes further on.
        while next < notes.len() && notes[next].bytes < end {
            next += 1;
        }
        let note = notes
            .get(next)
            .ok_or(MatchError::Unreached { index, end })?;
        let early_ns = released_ns.saturating_sub(note.at_ns);
        if early_ns > bound_ns {
            return Err(MatchError::Early {
                index,
                early_ns,
                bound_ns,
            });
        }
        most_early_ns = early_ns.max(most_early_ns);
        on_match(Match {
            released_ns,
            receipt_ns: note.at_ns,
        });
    }
    Ok(most_early_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, word for word, with no shared state: slow and obviously right.
    fn brute_force(notes: &[Note], end: u64) -> Option<u64> {
        notes
            .iter()
            .find(|note| note.bytes >= end)
            .map(|note| note.at_ns)
    }

    prop_compose! {
        /// Reads and messages that cut one stream at unrelated places; messages may be empty of
        /// reads, reads may span many messages and messages many reads.
        fn streams()(
            sizes in proptest::collection::vec(1u64..50, 1..80),
            reads in proptest::collection::vec((1u64..120, 0u64..1_000), 1..200),
        ) -> (Vec<u64>, Vec<Note>) {
            let total: u64 = sizes.iter().sum();
            let mut notes = Vec::new();
            let (mut bytes, mut at_ns) = (0, 1_000_000);
            for (size, gap) in reads.iter().cycle() {
                if bytes == total { break; }
                bytes = (bytes + size).min(total);
                at_ns += gap;
                notes.push(Note { bytes, at_ns });
            }
            let ends = sizes.iter().scan(0, |end, size| { *end += size; Some(*end) }).collect();
            (ends, notes)
        }
    }

    proptest! {
        #[test]
        fn a_receipt_is_the_first_note_that_reaches_the_last_byte((ends, notes) in streams()) {
            let messages = ends.iter().enumerate().map(|(i, &end)| (i as u64, end, 5));
            let mut receipts = Vec::new();
            let early_ns = match_receipts(&notes, messages, 0, |found| {
                assert_eq!(found.latency_ns(), found.receipt_ns - 5);
                receipts.push(found.receipt_ns);
            }).unwrap();
            prop_assert_eq!(early_ns, 0);
            let expected: Vec<u64> = ends.iter().map(|&end| brute_force(&notes, end).unwrap()).collect();
            prop_assert_eq!(&receipts, &expected);
            prop_assert!(receipts.is_sorted());
        }

        #[test]
        fn sampled_messages_get_the_same_receipts((ends, notes) in streams(), step in 1usize..9) {
            let messages = ends.iter().enumerate().step_by(step).map(|(i, &end)| (i as u64, end, 0));
            let mut receipts = Vec::new();
            match_receipts(&notes, messages, 0, |found| receipts.push(found.receipt_ns)).unwrap();
            let expected: Vec<u64> =
                ends.iter().step_by(step).map(|&end| brute_force(&notes, end).unwrap()).collect();
            prop_assert_eq!(receipts, expected);
        }

        #[test]
        fn stored_notes_are_read_back_or_refused(stored in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(notes) = Note::parse_all(&stored) {
                prop_assert_eq!(notes.len() * 16, stored.len());
            }
        }

        #[test]
        fn notes_survive_storage((_, notes) in streams()) {
            let stored: Vec<u8> = notes.iter()
                .flat_map(|n| [n.bytes.to_le_bytes(), n.at_ns.to_le_bytes()].concat()).collect();
            prop_assert_eq!(Note::parse_all(&stored).unwrap(), notes);
        }
    }

    #[test]
    fn a_message_that_no_note_reaches_is_an_error() {
        let notes = [Note {
            bytes: 10,
            at_ns: 100,
        }];
        assert_eq!(
            match_receipts(&notes, [(0, 10, 50), (1, 11, 50)], 0, |_| ()),
            Err(MatchError::Unreached { index: 1, end: 11 })
        );
    }

    #[test]
    fn one_clock_takes_no_message_before_its_release() {
        let notes = [Note {
            bytes: 10,
            at_ns: 100,
        }];
        let refused = match_receipts(&notes, [(4, 10, 101)], 0, |_| ()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "message 4 was received 1 ns before it was released"
        );
    }

    #[test]
    fn a_message_may_come_before_its_release_by_what_two_clocks_may_be_wrong_by_and_no_more() {
        let notes = [(10, 100), (20, 150)].map(|(bytes, at_ns)| Note { bytes, at_ns });
        let messages = [(0, 10, 120), (1, 20, 145)];
        let mut found = Vec::new();
        let early_ns = match_receipts(&notes, messages, 20, |each| found.push(each)).unwrap();
        assert_eq!(early_ns, 20);
        let times: Vec<_> = found
            .iter()
            .map(|each| (each.released_ns, each.receipt_ns, each.latency_ns()))
            .collect();
        assert_eq!(times, [(120, 100, 0), (145, 150, 5)]);
        let refused = match_receipts(&notes, messages, 19, |_| ()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "message 0 was received 20 ns before it was released, by times that may be wrong by 19 ns"
        );
    }

    #[test]
    fn notes_that_go_backwards_or_are_cut_off_are_refused() {
        let stored = |notes: &[(u64, u64)]| -> Vec<u8> {
            notes
                .iter()
                .flat_map(|(bytes, at)| [bytes.to_le_bytes(), at.to_le_bytes()].concat())
                .collect()
        };
        for bad in [[(5, 9), (5, 10)], [(5, 9), (4, 10)], [(5, 9), (6, 8)]] {
            assert_eq!(
                Note::parse_all(&stored(&bad)),
                Err(MatchError::Backwards { index: 1 })
            );
        }
        assert_eq!(
            Note::parse_all(&stored(&[(5, 9)])[..15]),
            Err(MatchError::Truncated { length: 15 })
        );
    }
}
