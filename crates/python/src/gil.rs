//! State that only a thread with the GIL touches; where there is none, a lock guards it.

/// The cell for the state of a class with a hot method: the GIL guards the state.
///
/// Law: nobody calls Python code, or releases the GIL, while the state is borrowed.
#[cfg(not(Py_GIL_DISABLED))]
mod cell {
    use pyo3::Python;
    use std::cell::{RefCell, RefMut};

    pub struct GilCell<T>(RefCell<T>);
    pub type Borrowed<'a, T> = RefMut<'a, T>;

    // SAFETY: this is built for interpreters with a GIL only, and each method runs with the GIL
    // held, so that no two threads are in the cell at a time.
    unsafe impl<T: Send> Sync for GilCell<T> {}

    impl<T> GilCell<T> {
        pub fn new(value: T) -> Self {
            Self(RefCell::new(value))
        }

        pub fn borrow(&self, _: Python<'_>) -> Borrowed<'_, T> {
            self.0.borrow_mut()
        }

        /// `None` while it is borrowed: another thread's call is in between.
        pub fn try_borrow(&self) -> Option<Borrowed<'_, T>> {
            self.0.try_borrow_mut().ok()
        }

        /// Whether it is not borrowed, and `act` returns true: for what is done with each message, and
        /// costs less than a borrow that has to be noted and ended.
        ///
        /// # Safety
        /// The GIL is held, and `act` does not touch this cell.
        pub unsafe fn is_free_and(&self, act: impl FnOnce(&mut T) -> bool) -> bool {
            // SAFETY: nobody has borrowed it, and by the law above nobody can until `act` has ended.
            self.0.try_borrow_mut().is_ok() && act(unsafe { &mut *self.0.as_ptr() })
        }
    }
}

/// The same where there is no GIL: a lock. By the law above it is held only for a short time, and no
/// thread that has it waits for another.
#[cfg(Py_GIL_DISABLED)]
mod cell {
    use pyo3::Python;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    pub struct GilCell<T>(Mutex<T>);
    pub type Borrowed<'a, T> = MutexGuard<'a, T>;

    impl<T> GilCell<T> {
        pub fn new(value: T) -> Self {
            Self(Mutex::new(value))
        }

        pub fn borrow(&self, _: Python<'_>) -> Borrowed<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// `None` while it is borrowed: another thread has it.
        pub fn try_borrow(&self) -> Option<Borrowed<'_, T>> {
            self.0.try_lock().ok()
        }

        /// Whether it is not borrowed, and `act` returns true.
        ///
        /// # Safety
        /// None is needed here: it is the other cell's.
        pub unsafe fn is_free_and(&self, act: impl FnOnce(&mut T) -> bool) -> bool {
            self.try_borrow().is_some_and(|mut state| act(&mut state))
        }
    }
}

pub use cell::{Borrowed as BorrowedCell, GilCell};
