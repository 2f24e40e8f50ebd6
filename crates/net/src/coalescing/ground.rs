//! The clock, the locks and the system calls that connections use. The loom models replace all of
//! them (`models/ground.rs`).

pub(super) use crate::{clock::monotonic_ns, process::Generation, socket::send_now};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, atomic::AtomicPtr};
