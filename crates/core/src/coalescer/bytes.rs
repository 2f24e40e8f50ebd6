//! Memory for bytes that come in short messages: all of it is initialised, so that a message is copied into
//! it without a call (decision 0051).

use std::ops::Deref;

/// No more is initialised beyond what has come: memory that nothing is written into costs nothing yet.
const AHEAD_BYTES: usize = 64 << 10;

/// Bytes in the order in which they came.
#[derive(Debug, Default)]
pub struct Bytes {
    /// What came is before `end`; what is behind means nothing.
    memory: Vec<u8>,
    end: usize,
}

impl Bytes {
    /// The place for a message of `length`, which must be copied there; `None`: it is empty, or would end
    /// behind `until`, see [`Bytes::until`].
    #[inline]
    pub(super) fn extend_within(&mut self, length: usize, until: usize) -> Option<&mut [u8]> {
        let free = self.memory.get_mut(self.end..until)?;
        // An empty message has no last byte.
        let place = free.get_mut(..=length.wrapping_sub(1))?;
        self.end += length;
        Some(place)
    }

    /// Where `bytes` more would end, or the memory that there is.
    pub(super) fn until(&self, bytes: usize) -> usize {
        self.end.saturating_add(bytes).min(self.memory.len())
    }

    /// Append a message.
    pub fn push(&mut self, message: &[u8]) {
        let end = self.end + message.len();
        if let Some(free) = self.memory.get_mut(self.end..end) {
            copy(message, free);
        } else {
            self.memory.truncate(self.end);
            self.memory.extend_from_slice(message);
            self.memory
                .resize(self.memory.capacity().min(end + AHEAD_BYTES), 0);
        }
        self.end = end;
    }

    /// Forget all bytes, and keep the memory.
    pub fn clear(&mut self) {
        self.end = 0;
    }

    /// How many bytes there is memory for.
    pub fn capacity(&self) -> usize {
        self.memory.capacity()
    }

    /// Forget the first `count` bytes, and move the others to the front.
    ///
    /// # Panics
    /// When there are fewer.
    pub(super) fn cut(&mut self, count: usize) {
        self.memory.copy_within(count..self.end, 0);
        self.end -= count;
    }

    /// Give memory back, but for `bytes`, or what is used if that is more.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        self.memory.truncate(self.end.max(bytes));
        self.memory.shrink_to_fit();
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.memory[..self.end]
    }
}

/// Copy a message into as many bytes; one of 4 to 128 by its first and its last part, which overlap unless it
/// is twice as long as they are.
#[inline]
pub(super) fn copy(message: &[u8], into: &mut [u8]) {
    match message.len() {
        64..=128 => copy_ends::<64>(message, into),
        32..64 => copy_ends::<32>(message, into),
        16..32 => copy_ends::<16>(message, into),
        8..16 => copy_ends::<8>(message, into),
        4..8 => copy_ends::<4>(message, into),
        _ => into.copy_from_slice(message),
    }
}

/// Copy the first and the last `N` bytes: no call, for their number is known when this is compiled.
#[inline]
fn copy_ends<const N: usize>(message: &[u8], into: &mut [u8]) {
    if let (Some(from), Some(to)) = (message.first_chunk::<N>(), into.first_chunk_mut::<N>()) {
        *to = *from;
    }
    if let (Some(from), Some(to)) = (message.last_chunk::<N>(), into.last_chunk_mut::<N>()) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_of_every_length_are_copied_whole() {
        let mut bytes = Bytes::default();
        let mut came = Vec::new();
        for length in (0..300).chain([0, 1, 128, 129, 70_000, 3, 100]) {
            let message: Vec<u8> = (0..length).map(|at| (length + 7 * at) as u8).collect();
            let until = bytes.until(length);
            match bytes.extend_within(length, until) {
                Some(place) => copy(&message, place),
                None => bytes.push(&message),
            }
            came.extend_from_slice(&message);
            assert_eq!(*bytes, *came, "{length}");
        }
    }

    #[test]
    fn nothing_is_appended_behind_the_end_of_the_room() {
        let mut bytes = Bytes::default();
        bytes.push(b"four");
        bytes.clear();
        let memory = bytes.until(usize::MAX);
        assert_eq!(memory, bytes.capacity());
        assert!(bytes.extend_within(memory + 1, memory).is_none());
        let until = bytes.until(3);
        assert!(bytes.extend_within(4, until).is_none());
        copy(b"one", bytes.extend_within(3, until).unwrap());
        for length in [1, 0, usize::MAX] {
            assert!(bytes.extend_within(length, until).is_none());
            assert!(bytes.extend_within(length, 0).is_none());
        }
        assert_eq!(&*bytes, b"one");
    }

    proptest! {
        #[test]
        fn they_are_what_came_and_was_not_cut(
            steps in prop::collection::vec((0usize..400, 0usize..10), 0..100),
        ) {
            let (mut bytes, mut expected) = (Bytes::default(), Vec::new());
            for (length, kind) in steps {
                match kind {
                    0 => {
                        let count = length.min(expected.len());
                        bytes.cut(count);
                        expected.drain(..count);
                    }
                    1 => bytes.shrink_to(length),
                    2 => {
                        bytes.clear();
                        expected.clear();
                    }
                    _ => {
                        let message: Vec<u8> = (0..length).map(|at| (kind + at) as u8).collect();
                        bytes.push(&message);
                        expected.extend_from_slice(&message);
                    }
                }
                prop_assert_eq!(&*bytes, &*expected);
                prop_assert!(bytes.capacity() >= expected.len());
            }
        }
    }
}
