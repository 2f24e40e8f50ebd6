//! The numbers of a stream's connections. Each connection brings its own, [`NUMBER_BYTES`] bytes, before its
//! first message: connections that were made one after the other may be accepted in another order.

use std::io::{self, Read};
use thiserror::Error;

/// A connection's number, little-endian.
pub const NUMBER_BYTES: usize = 4;

/// A connection came with a number that no connection has, or that another one has.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a connection came with number {0}, which is not free")]
pub struct NotFree(pub usize);

/// The connections of a stream that have come, by their numbers.
#[derive(Debug)]
pub struct Numbered<T> {
    places: Vec<Option<T>>,
    missing: usize,
}

impl<T> Numbered<T> {
    /// A place for each of `count` connections; no number that comes makes more.
    pub fn new(count: usize) -> Self {
        let mut places = Vec::new();
        places.resize_with(count, || None);
        Self {
            places,
            missing: count,
        }
    }

    /// How many connections have not come.
    pub fn missing(&self) -> usize {
        self.missing
    }

    /// Keep the connection that has brought this number.
    ///
    /// # Errors
    /// [`NotFree`]; nothing is kept then.
    pub fn put(&mut self, number: usize, connection: T) -> Result<(), NotFree> {
        match self.places.get_mut(number) {
            Some(free @ None) => {
                *free = Some(connection);
                self.missing -= 1;
                Ok(())
            }
            _ => Err(NotFree(number)),
        }
    }

    /// The connections in the order of their numbers; `None` for each that has not come.
    pub fn into_places(self) -> Vec<Option<T>> {
        self.places
    }
}

/// Read the number that a connection brings.
///
/// # Errors
/// When the connection ends before, or the kernel's.
pub fn number_of(connection: &mut impl Read) -> io::Result<usize> {
    let mut number = [0; NUMBER_BYTES];
    connection
        .read_exact(&mut number)
        .map_err(|error| io::Error::other(format!("a connection brought no number: {error}")))?;
    Ok(u32::from_le_bytes(number) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_numbers_and_none_comes_twice() {
        let mut numbered = Numbered::new(2);
        assert_eq!(numbered.put(1, 'b'), Ok(()));
        assert_eq!(numbered.put(1, 'c'), Err(NotFree(1)));
        assert_eq!(numbered.put(2, 'c'), Err(NotFree(2)));
        assert_eq!(
            numbered.put(u32::MAX as usize, 'c'),
            Err(NotFree(u32::MAX as usize))
        );
        assert_eq!(numbered.missing(), 1);
        assert_eq!(numbered.put(0, 'a'), Ok(()));
        assert_eq!(numbered.missing(), 0);
        assert_eq!(numbered.into_places(), [Some('a'), Some('b')]);
    }

    #[test]
    fn a_part_of_a_number_is_none_and_what_follows_it_is_left() {
        let error = number_of(&mut &[7, 0, 0][..]).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("a connection brought no number")
        );
        let mut brought = &[7, 1, 0, 0, 9][..];
        assert_eq!(number_of(&mut brought).unwrap(), 263);
        assert_eq!(brought, [9]);
    }
}
