//! How many connections a server takes, so that the memory they make it use has a bound.

use super::reply::Reply;
use rustix::process::{Resource, getrlimit};

/// The most bytes that all connections together may make the server keep; the kernel's own buffers,
/// which the kernel bounds, are not counted.
const MOST_KEPT_BYTES: usize = 1 << 30;
/// The most connections, however little each keeps.
const MOST_CONNECTIONS: usize = 4096;
/// Descriptors that are left to the rest of the process.
const SPARED_DESCRIPTORS: usize = 64;

/// How many connections the memory and the process's descriptors suffice for, at least one.
pub fn most_connections(reply: Reply, buffer_bytes: usize) -> usize {
    let of_memory = MOST_KEPT_BYTES / most_kept_bytes(reply, buffer_bytes).max(1);
    of_memory
        .min(most_descriptors().saturating_sub(SPARED_DESCRIPTORS))
        .clamp(1, MOST_CONNECTIONS)
}

/// The most bytes that one connection may make the server keep.
pub fn most_kept_bytes(reply: Reply, buffer_bytes: usize) -> usize {
    match reply {
        // The reply to one read, of which the kernel takes nothing.
        Reply::PerRead { .. } => buffer_bytes,
        // An incomplete message; the messages that the strategy held before a read, and all those that
        // the read completes. A vector that grows has up to twice the room that it needs.
        Reply::PerMessage {
            message_bytes,
            knobs,
        } => message_bytes
            .saturating_mul(2)
            .saturating_add(knobs.max_bytes)
            .saturating_add(buffer_bytes)
            .saturating_mul(2),
    }
}

fn most_descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinygram_core::{Knobs, Strategy};

    const PER_READ: Reply = Reply::PerRead {
        is_whole_buffer: false,
    };

    fn per_message(message_bytes: usize) -> Reply {
        Reply::PerMessage {
            message_bytes,
            knobs: Knobs::new(Strategy::Tick),
        }
    }

    #[test]
    fn the_larger_the_buffers_the_fewer_connections() {
        assert_eq!(most_connections(PER_READ, 16 << 20), 64);
        assert_eq!(most_connections(PER_READ, 1 << 30), 1);
        assert_eq!(most_connections(PER_READ, usize::MAX), 1);
        // 48 MiB and 64 KiB, twice.
        assert_eq!(most_connections(per_message(16 << 20), 16 << 20), 10);
        assert_eq!(most_connections(per_message(usize::MAX), 1), 1);
    }

    #[test]
    fn small_ones_leave_descriptors_to_others_and_are_no_more_than_the_cap() {
        let most = most_descriptors().saturating_sub(SPARED_DESCRIPTORS);
        assert_eq!(most_connections(PER_READ, 0), most.clamp(1, 4096));
    }
}
