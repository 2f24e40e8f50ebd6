//! Reads the counts of the preloaded library (`count_writes.c`).

use std::{
    fs, io,
    os::{fd::RawFd, linux::fs::MetadataExt},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// The shared library to preload into a sender's process.
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libtinygram_count_writes.so"));

const WATCHED_WORDS: usize = 16;

/// `struct counts` of the library.
#[repr(C)]
struct Shared {
    watched: [AtomicU64; WATCHED_WORDS],
    writes: AtomicU64,
    bytes: AtomicU64,
    would_block: AtomicU64,
}

/// What was written to the watched socket so far.
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

/// Count the writes to the socket `fd` from now on, through any descriptor that this process has
/// of it now; false where the library is not preloaded.
///
/// # Errors
/// When `fd` is no open descriptor, or one is beyond those that can be watched.
pub fn watch(fd: RawFd) -> io::Result<bool> {
    let Some(shared) = shared() else {
        return Ok(false);
    };
    for (shared, word) in shared.watched.iter().zip(bits_of(fd)?) {
        shared.store(word, Relaxed);
    }
    Ok(true)
}

/// The same for one more socket: a server has many.
///
/// # Errors
/// Those of [`watch`].
pub fn watch_also(fd: RawFd) -> io::Result<bool> {
    let Some(shared) = shared() else {
        return Ok(false);
    };
    for (shared, word) in shared.watched.iter().zip(bits_of(fd)?) {
        shared.fetch_or(word, Relaxed);
    }
    Ok(true)
}

/// A bit for each descriptor that is of the same file as `fd`.
fn bits_of(fd: RawFd) -> io::Result<[u64; WATCHED_WORDS]> {
    let mut watched = [0u64; WATCHED_WORDS];
    for same in descriptors_of(fd)? {
        let word = watched.get_mut(same / 64).ok_or_else(|| {
            let limit = 64 * WATCHED_WORDS;
            io::Error::other(format!("descriptor {same} cannot be watched: {limit} can"))
        })?;
        *word |= 1 << (same % 64);
    }
    Ok(watched)
}

/// All descriptors of this process that are of the same file as `fd`.
fn descriptors_of(fd: RawFd) -> io::Result<Vec<usize>> {
    let identity = |name: &str| {
        fs::metadata(format!("/proc/self/fd/{name}")).map(|file| (file.st_dev(), file.st_ino()))
    };
    let wanted = identity(&fd.to_string())?;
    let mut same = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        // One that was closed since it was listed is nobody's.
        if identity(&name).is_ok_and(|found| found == wanted) {
            same.extend(name.parse::<usize>());
        }
    }
    Ok(same)
}

/// The counts so far; `None` where the library is not preloaded.
pub fn read() -> Option<WriteCounts> {
    shared().map(|shared| WriteCounts {
        writes: shared.writes.load(Relaxed),
        bytes: shared.bytes.load(Relaxed),
        would_block: shared.would_block.load(Relaxed),
    })
}
