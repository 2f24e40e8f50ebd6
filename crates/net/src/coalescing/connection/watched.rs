//! A connection's state under its lock, and the threads that wait until it has changed.

use super::state::State;
use crate::{
    clock::monotonic_ns,
    coalescing::ground::{Condvar, Mutex, MutexGuard},
};
use std::time::Duration;

const POISONED: &str = "nobody panics while it is locked";

#[derive(Debug)]
pub(super) struct Watched {
    state: Mutex<State>,
    /// Notified when bytes were written, or when they never will be.
    changed: Condvar,
}

impl Watched {
    pub(super) fn new(state: State) -> Self {
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(POISONED)
    }

    pub(super) fn get_mut(&mut self) -> &mut State {
        self.state.get_mut().expect(POISONED)
    }

    /// Wake the threads in [`Self::wait`], so that they check the state again.
    pub(super) fn tell_waiting(&self, state: &State) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }

    /// Wait until `is_so` or the connection failed; false when `until_ns` came first.
    pub(super) fn wait(&self, until_ns: u64, is_so: impl Fn(&State) -> bool) -> bool {
        self.wait_locked(until_ns, is_so).1
    }

    /// Like [`Self::wait`]; also returns the locked state.
    pub(super) fn wait_locked(
        &self,
        until_ns: u64,
        is_so: impl Fn(&State) -> bool,
    ) -> (MutexGuard<'_, State>, bool) {
        let mut state = self.lock();
        while !is_so(&state) && state.failure.is_none() {
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                return (state, false);
            }
            state.waiting += 1;
            let woken = self
                .changed
                .wait_timeout(state, Duration::from_nanos(left_ns));
            state = woken.expect(POISONED).0;
            state.waiting -= 1;
        }
        (state, true)
    }
}
