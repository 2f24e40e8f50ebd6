//! What connections stand on. The loom models put a world of their own in its place
//! (`models/ground.rs`).

pub(super) use crate::{clock::monotonic_ns, process::Generation, socket::send_now};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, atomic::AtomicPtr};
