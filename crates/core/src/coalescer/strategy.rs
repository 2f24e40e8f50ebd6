//! The strategies as values, and the knobs that bound them.

use std::time::Duration;
use thiserror::Error;

/// When held bytes leave. Whatever the strategy, a batch of [`Knobs::max_bytes`] leaves at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// A write per message, TCP_NODELAY on (RFC 1122 §4.2.3.4: it must be possible).
    NoDelay,
    /// A write per message, TCP_NODELAY off: the kernel gathers bytes while any that it sent are
    /// unacknowledged (RFC 896).
    Nagle,
    /// One write at the end of the event loop's iteration; not for threads.
    Tick,
    /// For threads: the messages that come during a write leave in the next one. In an event loop it
    /// is the same as `Tick`.
    Combine,
    /// One write when the first message has been held for `hold`.
    Coalesce {
        /// How long the first message of a batch is held; above zero.
        hold: Duration,
    },
    /// One write when the delays of all held messages together have come to `price`: with `n`
    /// messages whose times of arrival sum to `S`, at `(price + S) ÷ n`. A single message waits for
    /// `price`, several at a time wait for less, and none waits longer.
    ///
    /// For the sum of all delays and of `price` for each write, this is never worse than twice
    /// the best that could be done if all arrivals were known beforehand (plus a nanosecond for each
    /// message, since times are whole nanoseconds). That is proven for writes exactly at the
    /// deadlines: see `proof/` in the repository.
    Competitive {
        /// How much delay of messages a write is worth; above zero.
        price: Duration,
    },
    /// When messages come singly, the first of an iteration leaves at once, and those that follow leave
    /// at its end. Where messages come as fast as the loop lets them, they leave later, but are held
    /// no longer than [`Knobs::ADAPTIVE_HOLD`], or [`Knobs::THREADS_HOLD`] in threads. It needs no tuning.
    #[default]
    Adaptive,
}

impl Strategy {
    /// The strategy that has this name on every command line; `duration` is its hold or its price, if
    /// it has one. `None`: there is no such strategy.
    pub fn named(name: &str, duration: Option<Duration>) -> Option<Self> {
        match (name, duration) {
            ("nodelay", None) => Some(Strategy::NoDelay),
            ("nagle", None) => Some(Strategy::Nagle),
            ("tick", None) => Some(Strategy::Tick),
            ("combine", None) => Some(Strategy::Combine),
            ("coalesce", Some(hold)) => Some(Strategy::Coalesce { hold }),
            ("competitive", Some(price)) => Some(Strategy::Competitive { price }),
            ("adaptive", None) => Some(Strategy::Adaptive),
            _ => None,
        }
    }

    /// Whether TCP_NODELAY must be on: for all but `Nagle`, so that a batch that was written does not
    /// wait again in the kernel.
    pub fn wants_nodelay(self) -> bool {
        self != Strategy::Nagle
    }
}

/// A knob outside its range.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KnobError {
    /// A batch of no bytes never fills.
    #[error("max_bytes is 0: it must be at least 1")]
    MaxBytes,
    /// A hold of no time is no hold.
    #[error("a hold of 0 us is no hold: it must be above 0; for no hold use the strategy nodelay")]
    Hold,
    /// A write that costs nothing is worth no delay.
    #[error(
        "a price of 0 us buys no hold: it must be above 0; for no hold use the strategy nodelay"
    )]
    Price,
    /// No message could be held.
    #[error("max_buffered_bytes is 0: it must be at least 1, or None for no limit")]
    MaxBufferedBytes,
}

/// The strategy and the bounds of a coalescer.
///
/// ```
/// use std::time::Duration;
/// use tinygram_core::{Knobs, Strategy};
///
/// let mut knobs = Knobs::new(Strategy::Tick);
/// knobs.max_hold = Some(Duration::from_micros(200));
/// knobs.max_buffered_bytes = Some(1 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Knobs {
    /// When bytes leave.
    pub strategy: Strategy,
    /// A batch this large leaves at once, in bytes.
    pub max_bytes: usize,
    /// No message is held for longer than this, as far as the caller keeps the deadlines; above zero.
    /// `None`: the strategy alone decides.
    pub max_hold: Option<Duration>,
    /// The most bytes that are held for a peer that takes nothing; `None`: the coalescer sets no
    /// limit.
    pub max_buffered_bytes: Option<usize>,
}

impl Knobs {
    /// The default of `max_bytes`, 64 KiB: larger batches gained nothing measurable.
    pub const MAX_BYTES: usize = 64 << 10;
    /// How long `Adaptive` holds at most while more messages keep coming.
    pub const ADAPTIVE_HOLD: Duration = Duration::from_micros(300);
    /// How long `Adaptive` holds at most in threads, while they send and the writing thread does not come.
    pub const THREADS_HOLD: Duration = Duration::from_millis(1);
    /// The default of `max_bytes` for threads, 256 KiB.
    pub const THREADS_MAX_BYTES: usize = 256 << 10;

    /// The knobs of a strategy in an event loop or a plain loop; all others have their defaults.
    pub fn new(strategy: Strategy) -> Self {
        Self {
            strategy,
            max_bytes: Self::MAX_BYTES,
            max_hold: None,
            max_buffered_bytes: None,
        }
    }

    /// The knobs of a strategy for threads; all others have their defaults.
    pub fn of_threads(strategy: Strategy) -> Self {
        Self {
            max_bytes: Self::THREADS_MAX_BYTES,
            ..Self::new(strategy)
        }
    }

    /// The same knobs, if they are within their ranges.
    ///
    /// # Errors
    /// Which knob is outside its range.
    pub fn checked(self) -> Result<Self, KnobError> {
        if self.max_bytes == 0 {
            return Err(KnobError::MaxBytes);
        }
        if self.max_buffered_bytes == Some(0) {
            return Err(KnobError::MaxBufferedBytes);
        }
        match (self.strategy, self.max_hold) {
            (Strategy::Coalesce { hold }, _) if hold.is_zero() => Err(KnobError::Hold),
            (Strategy::Competitive { price }, _) if price.is_zero() => Err(KnobError::Price),
            (_, Some(hold)) if hold.is_zero() => Err(KnobError::Hold),
            _ => Ok(self),
        }
    }

    /// How long a message is held at most, in nanoseconds; `None`: no time bounds it. `adaptive` is the
    /// bound of [`Strategy::Adaptive`].
    pub(super) fn hold_ns(&self, adaptive: Duration) -> Option<u64> {
        let own = match self.strategy {
            Strategy::Coalesce { hold } => Some(hold),
            Strategy::Competitive { price } => Some(price),
            Strategy::Adaptive => Some(adaptive),
            Strategy::Tick | Strategy::Combine | Strategy::NoDelay | Strategy::Nagle => None,
        };
        let shortest = own.into_iter().chain(self.max_hold).min();
        shortest.map(nanoseconds)
    }

    /// How long a message is held at most, whatever the strategy, in nanoseconds.
    pub(super) fn max_hold_ns(&self) -> u64 {
        self.max_hold.map_or(u64::MAX, nanoseconds)
    }
}

/// The duration in nanoseconds; `u64::MAX` for 584 years and more.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Default for Knobs {
    /// The knobs of the default strategy, [`Strategy::Adaptive`].
    fn default() -> Self {
        Self::new(Strategy::default())
    }
}
