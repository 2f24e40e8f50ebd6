//! Cutting what an echo server reads into messages.

/// Cuts what a server reads into messages of one size; it keeps less than one message.
#[derive(Debug)]
pub struct Cutter {
    message_bytes: usize,
    incomplete: Vec<u8>,
}

impl Cutter {
    /// A cutter for messages of `message_bytes`, at least one.
    pub fn new(message_bytes: usize) -> Self {
        Self {
            message_bytes: message_bytes.max(1),
            incomplete: Vec::new(),
        }
    }

    /// Give `take` each message that `chunk` completes.
    ///
    /// # Errors
    /// The first error of `take`; the messages after it are lost.
    pub fn cut<E>(
        &mut self,
        chunk: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = chunk;
        if !self.incomplete.is_empty() {
            let missing = self.message_bytes - self.incomplete.len();
            let (head, tail) = rest.split_at(missing.min(rest.len()));
            self.incomplete.extend_from_slice(head);
            rest = tail;
            if self.incomplete.len() == self.message_bytes {
                take(&self.incomplete)?;
                self.incomplete.clear();
            }
        }
        let mut messages = rest.chunks_exact(self.message_bytes);
        for message in &mut messages {
            take(message)?;
        }
        self.incomplete.extend_from_slice(messages.remainder());
        Ok(())
    }

    /// Give away the incomplete message: no more bytes come.
    pub fn take_rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.incomplete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_that_is_not_taken_ends_the_cutting() {
        let mut cutter = Cutter::new(2);
        let mut taken = 0;
        let end = cutter.cut(b"aabbcc", |_| {
            taken += 1;
            if taken == 2 { Err("full") } else { Ok(()) }
        });
        assert_eq!((end, taken), (Err("full"), 2));
    }

    proptest! {
        #[test]
        fn messages_are_cut_out_whole_and_in_order(
            size in 1usize..20, bytes in proptest::collection::vec(any::<u8>(), 0..300), cuts in proptest::collection::vec(1usize..40, 1..20)
        ) {
            let mut cutter = Cutter::new(size);
            let mut joined = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                let taken: Result<(), ()> = cutter.cut(now, |message| {
                    assert_eq!(message.len(), size);
                    joined.extend_from_slice(message);
                    Ok(())
                });
                prop_assert!(taken.is_ok());
                rest = later;
            }
            let rest = cutter.take_rest();
            prop_assert!(rest.len() < size);
            joined.extend(rest);
            prop_assert_eq!(joined, bytes);
        }
    }
}
