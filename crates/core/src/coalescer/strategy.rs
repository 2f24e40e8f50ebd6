//! The strategies as values, and the knobs that bound them.

use thiserror::Error;

/// When held bytes leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// A write per message, TCP_NODELAY on.
    NoDelay,
    /// A write per message, TCP_NODELAY off: the kernel gathers (RFC 896).
    Nagle,
    /// One write at the end of the event loop's iteration.
    Tick,
    /// Threads: what gathers during a write leaves in the next one.
    Combine,
    /// One write when the first message has been held for `hold_ns`.
    Coalesce {
        /// How long the first message of a batch is held, in nanoseconds.
        hold_ns: u64,
    },
    /// At once when idle, at the end of the iteration when not, and later while more keeps coming.
    Adaptive,
}

impl Strategy {
    /// Whether TCP_NODELAY is to be on.
    pub fn wants_nodelay(self) -> bool {
        self != Strategy::Nagle
    }
}

/// A knob outside its range.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum KnobError {
    /// A batch of no bytes never fills.
    #[error("max_bytes is 0: it must be at least 1")]
    MaxBytes,
    /// A hold of no time is no hold.
    #[error("a hold of 0 us is no hold: it must be above 0; for no hold use the strategy nodelay")]
    Hold,
    /// No message could be held.
    #[error("max_buffered_bytes is 0: it must be at least 1, or None for no limit")]
    MaxBufferedBytes,
}

/// What bounds a coalescer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// When bytes leave.
    pub strategy: Strategy,
    /// A batch this large leaves at once, in bytes.
    pub max_bytes: usize,
    /// No message is held longer, in nanoseconds; `None`: as the strategy says.
    pub max_hold_ns: Option<u64>,
    /// What is held at most for a peer that takes nothing, in bytes; `None`: no limit.
    pub max_buffered_bytes: Option<usize>,
}

impl Knobs {
    /// 64 KiB: beyond it, larger batches gained nothing measurable.
    pub const MAX_BYTES: usize = 64 << 10;
    /// How long `Adaptive` holds at most while more keeps coming, in nanoseconds.
    pub const ADAPTIVE_HOLD_NS: u64 = 100_000;

    /// The knobs of a strategy, the others at their defaults.
    pub fn new(strategy: Strategy) -> Self {
        Self {
            strategy,
            max_bytes: Self::MAX_BYTES,
            max_hold_ns: None,
            max_buffered_bytes: None,
        }
    }

    /// The same knobs, if they are within their ranges.
    ///
    /// # Errors
    /// Which knob is not.
    pub fn checked(self) -> Result<Self, KnobError> {
        if self.max_bytes == 0 {
            return Err(KnobError::MaxBytes);
        }
        if self.max_buffered_bytes == Some(0) {
            return Err(KnobError::MaxBufferedBytes);
        }
        if self.max_hold_ns == Some(0) || self.strategy == (Strategy::Coalesce { hold_ns: 0 }) {
            return Err(KnobError::Hold);
        }
        Ok(self)
    }

    /// How long a message is held at most, in nanoseconds; `None`: an iteration of its loop.
    pub(super) fn hold_ns(&self) -> Option<u64> {
        let own_ns = match self.strategy {
            Strategy::Coalesce { hold_ns } => Some(hold_ns),
            Strategy::Adaptive => Some(Self::ADAPTIVE_HOLD_NS),
            Strategy::Tick | Strategy::Combine | Strategy::NoDelay | Strategy::Nagle => None,
        };
        match (own_ns, self.max_hold_ns) {
            (Some(own_ns), Some(max_ns)) => Some(own_ns.min(max_ns)),
            (own_ns, max_ns) => own_ns.or(max_ns),
        }
    }
}
