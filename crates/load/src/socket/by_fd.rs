//! A table of what belongs to open descriptors.

use std::os::fd::RawFd;

/// Values by descriptor, in a vector: the kernel gives the lowest free number, so few places are empty.
#[derive(Debug)]
pub struct ByFd<T> {
    places: Vec<Option<T>>,
    open: usize,
}

impl<T> ByFd<T> {
    /// How many descriptors have a value.
    pub fn len(&self) -> usize {
        self.open
    }

    /// Whether no descriptor has a value.
    pub fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// The value of a descriptor.
    pub fn get(&self, fd: RawFd) -> Option<&T> {
        self.places.get(fd as usize)?.as_ref()
    }

    /// The value of a descriptor, to change it.
    pub fn get_mut(&mut self, fd: RawFd) -> Option<&mut T> {
        self.places.get_mut(fd as usize)?.as_mut()
    }

    /// Set the value of a descriptor that is open.
    pub fn insert(&mut self, fd: RawFd, value: T) {
        let place = fd as usize;
        if place >= self.places.len() {
            self.places.resize_with(place + 1, || None);
        }
        if self.places[place].replace(value).is_none() {
            self.open += 1;
        }
    }

    /// Take the value of a descriptor out.
    pub fn remove(&mut self, fd: RawFd) -> Option<T> {
        let value = self.places.get_mut(fd as usize)?.take()?;
        self.open -= 1;
        Some(value)
    }

    /// All descriptors that have a value, and their values.
    pub fn iter(&self) -> impl Iterator<Item = (RawFd, &T)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(place, value)| Some((place as RawFd, value.as_ref()?)))
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }
}

impl<T> Default for ByFd<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            open: 0,
        }
    }
}

impl<T> FromIterator<(RawFd, T)> for ByFd<T> {
    fn from_iter<I: IntoIterator<Item = (RawFd, T)>>(values: I) -> Self {
        let mut found = Self::default();
        for (fd, value) in values {
            found.insert(fd, value);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::ByFd;
    use proptest::{collection::vec, prelude::*};
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map_from_descriptors(steps in vec((0i32..40, any::<Option<u8>>()), 0..200)) {
            let mut table = ByFd::default();
            let mut map = BTreeMap::new();
            for (fd, value) in steps {
                match value {
                    Some(value) => {
                        table.insert(fd, value);
                        map.insert(fd, value);
                    }
                    None => prop_assert_eq!(table.remove(fd), map.remove(&fd)),
                }
                prop_assert_eq!(table.len(), map.len());
                prop_assert_eq!(table.is_empty(), map.is_empty());
                prop_assert_eq!(table.get(fd), map.get(&fd));
                prop_assert_eq!(table.get_mut(fd), map.get_mut(&fd));
            }
            prop_assert!(table.iter().eq(map.iter().map(|(&fd, value)| (fd, value))));
            prop_assert!(table.values().eq(map.values()));
            prop_assert_eq!(table.get(1_000), None);
        }
    }
}
