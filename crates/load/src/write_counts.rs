//! Reads the counts of the preloaded library (`count_writes.c`).

use std::{
    collections::HashSet,
    fs, io,
    os::{fd::RawFd, linux::fs::MetadataExt},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// The shared library to preload into a sender's process.
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libtinygram_count_writes.so"));

/// A bit for each descriptor: 32,768 of them.
const WATCHED_WORDS: usize = 512;

/// `struct counts` of the library.
#[repr(C)]
struct Shared {
    watched: [AtomicU64; WATCHED_WORDS],
    writes: AtomicU64,
    bytes: AtomicU64,
    would_block: AtomicU64,
    waits: AtomicU64,
    ns: [AtomicU64; KINDS],
    asked: AtomicU64,
    unsent: AtomicU64,
    clock_ns: AtomicU64,
}

/// Writes, waits, what is between such calls, and what timing them takes (`enum kind`).
const KINDS: usize = 4;

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

/// The CPU time of this process's calls so far, in nanoseconds, by the clocks of their threads
/// (`call_times.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTimes {
    /// How many writes to the watched sockets there were, with those that found the buffer full.
    pub write_calls: u64,
    /// What these took.
    pub write_ns: u64,
    /// How many calls waited.
    pub wait_calls: u64,
    /// What these took.
    pub wait_ns: u64,
    /// What the program did between such calls.
    pub between_ns: u64,
    /// What taking these times took.
    pub timing_ns: u64,
    /// After how many of the writes the kernel was asked what it had not sent.
    pub asked: u64,
    /// After how many of these it had bytes unsent.
    pub unsent: u64,
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

/// Count the writes to these sockets alone from now on, through any descriptor that this process has
/// of them now; false where the library is not preloaded.
///
/// # Errors
/// When one of `fds` is no open descriptor, or one is beyond those that can be watched.
pub fn watch(fds: &[RawFd]) -> io::Result<bool> {
    watching(fds, |watched, bits| watched.store(bits, Relaxed))
}

/// The same for these sockets beside those that are watched already.
///
/// # Errors
/// Those of [`watch`].
pub fn watch_also(fds: &[RawFd]) -> io::Result<bool> {
    watching(fds, |watched, bits| {
        watched.fetch_or(bits, Relaxed);
    })
}

fn watching(fds: &[RawFd], set: impl Fn(&AtomicU64, u64)) -> io::Result<bool> {
    let Some(shared) = shared() else {
        return Ok(false);
    };
    for (watched, bits) in shared.watched.iter().zip(bits_of(fds)?) {
        set(watched, bits);
    }
    Ok(true)
}

/// A bit for each descriptor that is of the same file as one of `fds`.
fn bits_of(fds: &[RawFd]) -> io::Result<[u64; WATCHED_WORDS]> {
    let mut watched = [0u64; WATCHED_WORDS];
    for same in descriptors_of(fds)? {
        let word = watched.get_mut(same / 64).ok_or_else(|| {
            let limit = 64 * WATCHED_WORDS;
            io::Error::other(format!("descriptor {same} cannot be watched: {limit} can"))
        })?;
        *word |= 1 << (same % 64);
    }
    Ok(watched)
}

/// All descriptors of this process that are of the same file as one of `fds`.
fn descriptors_of(fds: &[RawFd]) -> io::Result<Vec<usize>> {
    let identity = |name: &str| {
        fs::metadata(format!("/proc/self/fd/{name}")).map(|file| (file.st_dev(), file.st_ino()))
    };
    let wanted = fds
        .iter()
        .map(|fd| identity(&fd.to_string()))
        .collect::<io::Result<HashSet<_>>>()?;
    let mut same = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        // One that was closed since it was listed is nobody's.
        if identity(&name).is_ok_and(|found| wanted.contains(&found)) {
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

/// The CPU time of calls so far; `None` where the library is not preloaded.
pub fn read_times() -> Option<CallTimes> {
    shared().map(|shared| {
        let [write_ns, wait_ns, between_ns, timing_ns] =
            shared.ns.each_ref().map(|ns| ns.load(Relaxed));
        CallTimes {
            write_calls: shared.writes.load(Relaxed) + shared.would_block.load(Relaxed),
            write_ns,
            wait_calls: shared.waits.load(Relaxed),
            wait_ns,
            between_ns,
            timing_ns,
            asked: shared.asked.load(Relaxed),
            unsent: shared.unsent.load(Relaxed),
        }
    })
}

/// Say that so much of the calling thread's CPU time just now was not the program's.
pub fn leave_out(ns: u64) {
    type LeaveOut = extern "C" fn(u64);
    static FOUND: OnceLock<Option<LeaveOut>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        // SAFETY: looks a name up among the libraries of this process.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"tinygram_leave_out".as_ptr()) };
        // SAFETY: only our library exports this name, with this signature.
        (!address.is_null()).then(|| unsafe { std::mem::transmute::<_, LeaveOut>(address) })
    });
    if let Some(leave_out) = found {
        leave_out(ns);
    }
}
