//! The queue of the writing thread, and its sleep.
//!
//! Law: whoever adds an item finds the thread awake, or is told to wake it. Both sides decide under
//! one lock, so that nothing comes between "there is nothing" and "I sleep".

use super::ground::Mutex;

/// A queue with one taker, a thread that sleeps when it is empty.
#[derive(Debug)]
pub(super) struct Handoff<T> {
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    waiting: Vec<T>,
    is_asleep: bool,
}

impl<T> Handoff<T> {
    pub(super) fn new() -> Self {
        let state = State {
            waiting: Vec::new(),
            is_asleep: false,
        };
        Self {
            state: Mutex::new(state),
        }
    }

    /// Add an item. Returns whether the taker sleeps: then the caller must wake it.
    #[must_use]
    pub(super) fn add(&self, item: T) -> bool {
        let mut state = self.state.lock().expect("nobody panics here");
        state.waiting.push(item);
        std::mem::replace(&mut state.is_asleep, false)
    }

    /// Move all waiting items into `items`; false: there were none, and the taker counts as asleep
    /// until the next [`Handoff::add`], or until it calls this again.
    #[must_use]
    pub(super) fn take_or_sleep(&self, items: &mut Vec<T>) -> bool {
        let mut state = self.state.lock().expect("nobody panics here");
        items.append(&mut state.waiting);
        state.is_asleep = items.is_empty();
        !state.is_asleep
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_add_while_the_taker_sleeps_must_wake_it() {
        let handoff = Handoff::new();
        let mut items = Vec::new();
        assert!(!handoff.add(1));
        assert!(!handoff.add(2));
        assert!(handoff.take_or_sleep(&mut items));
        assert_eq!(items, [1, 2]);
        items.clear();
        assert!(!handoff.take_or_sleep(&mut items));
        assert!(handoff.add(3));
        assert!(!handoff.add(4));
        assert!(handoff.take_or_sleep(&mut items));
        assert_eq!(items, [3, 4]);
    }
}
