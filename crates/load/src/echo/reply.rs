//! What an echo server sends back.

use tinygram_core::Knobs;

/// What goes back, and when.
#[derive(Clone, Copy, Debug)]
pub enum Reply {
    /// What was read, at once; or, a fault that has been published as a fast server, the whole
    /// buffer however little was read.
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
