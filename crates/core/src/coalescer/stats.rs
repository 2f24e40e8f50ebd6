//! The statistics of a coalescer.

use crate::Histogram;
use std::fmt;

/// Why a write happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
#[non_exhaustive]
pub enum Reason {
    /// The strategy holds nothing: a write per message.
    EachMessage,
    /// Nothing was held, and no more was expected soon.
    Idle,
    /// The batch had reached `max_bytes`.
    Full,
    /// The event loop's iteration ended, or the writing thread came round.
    Tick,
    /// The held messages were due.
    Deadline,
    /// The program asked: flush, close, end of the stream.
    Asked,
    /// The peer takes bytes again.
    Writable,
}

impl Reason {
    /// All reasons.
    pub const ALL: &'static [Reason] = &[
        Reason::EachMessage,
        Reason::Idle,
        Reason::Full,
        Reason::Tick,
        Reason::Deadline,
        Reason::Asked,
        Reason::Writable,
    ];

    /// The reason's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Reason::EachMessage => "each_message",
            Reason::Idle => "idle",
            Reason::Full => "full",
            Reason::Tick => "tick",
            Reason::Deadline => "deadline",
            Reason::Asked => "asked",
            Reason::Writable => "writable",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// The counts of a coalescer so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Messages handed over.
    pub messages: u64,
    /// Writes that took at least one byte.
    pub writes: u64,
    /// Bytes that were written.
    pub bytes: u64,
    /// Batches that left after their deadline.
    pub overruns: u64,
    /// Writes by reason, in the order of [`Reason::ALL`].
    flushes: [u64; Reason::ALL.len()],
    /// How long the first message of each batch was held; `None`: nothing was held yet.
    holds: Option<Box<Histogram>>,
}

impl Stats {
    /// How many writes happened for this reason; over all reasons they add up to `writes`.
    pub fn flushes(&self, reason: Reason) -> u64 {
        self.flushes[reason as usize]
    }

    /// How long the first message of each held batch was held; with one significant digit.
    pub fn holds(&self) -> Histogram {
        self.holds
            .as_deref()
            .cloned()
            .unwrap_or_else(Histogram::small)
    }

    /// Count a write that took `bytes`, one or more.
    pub(super) fn record_write(&mut self, bytes: usize, reason: Reason) {
        if cfg!(feature = "without-stats") {
            return;
        }
        self.writes += 1;
        self.bytes += bytes as u64;
        self.flushes[reason as usize] += 1;
    }

    /// Count a batch that left after `hold_ns`; `is_late`: after its deadline.
    pub(super) fn record_hold(&mut self, hold_ns: u64, is_late: bool) {
        if cfg!(feature = "without-stats") {
            return;
        }
        self.overruns += u64::from(is_late);
        // Connections that never hold anything need no memory for it.
        self.holds
            .get_or_insert_with(|| Box::new(Histogram::small()))
            .record(hold_ns);
    }
}
