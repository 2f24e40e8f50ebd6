//! Reads the counts of the preloaded library (`count_writes.c`).

use std::{
    os::fd::RawFd,
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
};

/// The shared library to preload into a sender's process.
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libtinygram_count_writes.so"));

/// `struct counts` of the library.
#[repr(C)]
struct Shared {
    fd: AtomicI64,
    writes: AtomicU64,
    bytes: AtomicU64,
    would_block: AtomicU64,
}

/// What was written to the watched descriptor so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteCounts {
    /// System calls that handed bytes to the kernel.
    pub writes: u64,
    /// The bytes that they handed over.
    pub bytes: u64,
    /// System calls that found the socket's buffer full.
    pub would_block: u64,
}

fn shared() -> Option<&'static Shared> {
    // SAFETY: looks a name up among the libraries of this process.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"tinygram_write_counts".as_ptr()) };
    if address.is_null() {
        return None;
    }
    // SAFETY: only our library exports this name, with this signature; what it returns is null or
    // memory of `Shared`'s layout that lives as long as the process.
    unsafe {
        let counts: extern "C" fn() -> *const Shared = std::mem::transmute(address);
        counts().as_ref()
    }
}

/// Count the writes to `fd` from now on; false where the library is not preloaded.
pub fn watch(fd: RawFd) -> bool {
    let Some(shared) = shared() else {
        return false;
    };
    shared.fd.store(fd.into(), Relaxed);
    true
}

/// The counts so far; `None` where the library is not preloaded.
pub fn read() -> Option<WriteCounts> {
    shared().map(|shared| WriteCounts {
        writes: shared.writes.load(Relaxed),
        bytes: shared.bytes.load(Relaxed),
        would_block: shared.would_block.load(Relaxed),
    })
}
