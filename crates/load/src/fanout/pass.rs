//! A pass over all subscribers: what it does, and how it fails.

use std::io;
use thiserror::Error;

/// Why a publisher cannot go on.
#[derive(Debug, Error)]
pub enum PublishError {
    /// A subscriber is gone.
    #[error("subscriber {subscriber} has ended its connection: {error}")]
    Lost {
        /// Its place in the order in which they connected, from 0.
        subscriber: usize,
        /// What the kernel says.
        error: io::Error,
    },
    /// A subscriber takes nothing, or too little.
    #[error(
        "subscriber {subscriber} does not keep up: {bytes} of the {all_bytes} bytes that wait here \
         wait for it"
    )]
    Behind {
        /// The one that most waits for.
        subscriber: usize,
        /// What waits for it.
        bytes: usize,
        /// What waits for all.
        all_bytes: usize,
    },
    /// The pass itself has failed.
    #[error(transparent)]
    Failed(#[from] io::Error),
}

/// The subscriber that most waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Which it is.
    pub subscriber: usize,
    /// What waits for it.
    pub bytes: usize,
    /// What waits for all.
    pub all_bytes: usize,
}

/// The system calls of a pass so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Those that handed bytes to the kernel.
    pub writes: u64,
    /// Those that found a socket's buffer full.
    pub would_block: u64,
}

/// How a message is handed to all subscribers.
pub trait Pass: std::fmt::Debug + Send + Sync {
    /// Hand it to all; what one does not take now waits in this process.
    ///
    /// # Errors
    /// [`PublishError::Lost`] and [`PublishError::Failed`].
    fn publish(&mut self, message: Vec<u8>) -> Result<(), PublishError>;
    /// Hand over what waits, until something was or the time has come.
    ///
    /// # Errors
    /// Those of `publish`.
    fn wait(&mut self, until_ns: u64) -> Result<(), PublishError>;
    /// The subscribers that are behind; `None`: all was handed over.
    fn waiting(&self) -> Option<Waiting>;
    /// Its calls so far.
    fn calls(&self) -> Calls;
}

impl From<Waiting> for PublishError {
    fn from(waiting: Waiting) -> Self {
        Self::Behind {
            subscriber: waiting.subscriber,
            bytes: waiting.bytes,
            all_bytes: waiting.all_bytes,
        }
    }
}
