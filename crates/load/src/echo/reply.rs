//! The replies of an echo server.

use tinygram_core::Knobs;

/// The bytes that go back, and when.
#[derive(Clone, Copy, Debug)]
pub enum Reply {
    /// What was read, at once; or, as a published "fast" server wrongly does, the whole buffer, however
    /// little was read.
    PerRead {
        /// Whether the whole buffer is sent.
        is_whole_buffer: bool,
    },
    /// Each message, when the strategy says so.
    PerMessage {
        /// The size of every message.
        message_bytes: usize,
        /// The strategy and its bounds; `max_buffered_bytes` must not be set.
        knobs: Knobs,
    },
}
