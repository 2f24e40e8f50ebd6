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
    /// A message arrived before it was sent: the clocks or the offsets are wrong.
    #[error("message {index} was received {early_ns} ns before it was released")]
    Early {
        /// Which message of the stream, from 0.
        index: u64,
        /// By how much, in nanoseconds.
        early_ns: u64,
    },
}

/// Match messages to notes: a message's receipt is the time of the first note that reaches its
/// last byte. Calls `on_match(receipt_ns, latency_ns)` for each message.
///
/// `messages` are (index in the stream, offset that the message ends at, time it was released),
/// with ends that never decrease.
///
/// # Errors
/// [`MatchError::Unreached`], [`MatchError::Early`].
pub fn match_receipts(
    notes: &[Note],
    messages: impl IntoIterator<Item = (u64, u64, u64)>,
    mut on_match: impl FnMut(u64, u64),
) -> Result<(), MatchError> {
    let mut next = 0;
    for (index, end, released_ns) in messages {
        // `while`, not `if`: one message may lie several notes further on.
        while next < notes.len() && notes[next].bytes < end {
            next += 1;
        }
        let note = notes
            .get(next)
            .ok_or(MatchError::Unreached { index, end })?;
        let latency_ns = note
            .at_ns
            .checked_sub(released_ns)
            .ok_or(MatchError::Early {
                index,
                early_ns: released_ns.saturating_sub(note.at_ns),
            })?;
        on_match(note.at_ns, latency_ns);
    }
    Ok(())
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
            match_receipts(&notes, messages, |at_ns, latency_ns| {
                assert_eq!(latency_ns, at_ns - 5);
                receipts.push(at_ns);
            }).unwrap();
            let expected: Vec<u64> = ends.iter().map(|&end| brute_force(&notes, end).unwrap()).collect();
            prop_assert_eq!(&receipts, &expected);
            prop_assert!(receipts.is_sorted());
        }

        #[test]
        fn sampled_messages_get_the_same_receipts((ends, notes) in streams(), step in 1usize..9) {
            let messages = ends.iter().enumerate().step_by(step).map(|(i, &end)| (i as u64, end, 0));
            let mut receipts = Vec::new();
            match_receipts(&notes, messages, |at_ns, _| receipts.push(at_ns)).unwrap();
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
            match_receipts(&notes, [(0, 10, 50), (1, 11, 50)], |_, _| ()),
            Err(MatchError::Unreached { index: 1, end: 11 })
        );
    }

    #[test]
    fn a_message_received_before_its_release_is_an_error() {
        let notes = [Note {
            bytes: 10,
            at_ns: 100,
        }];
        assert_eq!(
            match_receipts(&notes, [(4, 10, 130)], |_, _| ()),
            Err(MatchError::Early {
                index: 4,
                early_ns: 30
            })
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
