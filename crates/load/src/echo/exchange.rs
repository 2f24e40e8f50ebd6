//! The messages that a client has exchanged in a whole run, or in one of its slices.

use crate::process::Usage;
use tinygram_core::Histogram;

/// Round trips in nanoseconds: from before the write of a message's first byte to after the read of its
/// last one.
#[derive(Clone, Debug)]
pub enum RoundTrips {
    /// A histogram, for any number of round trips.
    Counted(Histogram),
    /// Each round trip of a slice: clearing them, and making room for more, takes next to no time.
    Each(Vec<u64>),
}

impl RoundTrips {
    /// How many there are.
    pub fn count(&self) -> u64 {
        match self {
            Self::Counted(histogram) => histogram.count(),
            Self::Each(values_ns) => values_ns.len() as u64,
        }
    }

    /// Add them to a histogram.
    pub fn add_to(&self, all: &mut Histogram) {
        match self {
            Self::Counted(histogram) => all.merge(histogram),
            Self::Each(values_ns) => values_ns.iter().for_each(|&value_ns| all.record(value_ns)),
        }
    }

    pub(super) fn record(&mut self, value_ns: u64, count: u64) {
        match self {
            Self::Counted(histogram) => histogram.record_many(value_ns, count),
            Self::Each(values_ns) => values_ns.extend((0..count).map(|_| value_ns)),
        }
    }
}

/// What was exchanged in a stretch of time.
#[derive(Debug)]
pub struct Exchange {
    /// Messages that came back whole.
    pub messages: u64,
    /// The time before the first write, or after the last read that is not counted, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// The time after the last read.
    pub end_ns: u64,
    /// In a whole run, those of `messages`; in a slice, those of the messages that were begun in this
    /// stretch, even if they came back after it: otherwise the longest would be missing.
    pub round_trips: RoundTrips,
    /// How long messages were in flight in this stretch, all of them together, in nanoseconds.
    pub in_flight_ns: u64,
    /// The client's own system calls that handed bytes to the kernel.
    pub writes: u64,
    /// The client's own system calls that brought bytes.
    pub reads: u64,
    /// Messages of each worker.
    pub messages_of: Vec<u64>,
    /// The usage of the client's thread, without the CPU time of `polled_ns`.
    pub usage: Usage,
    /// CPU time in which the thread polled and nothing had come.
    pub polled_ns: u64,
}

impl Exchange {
    pub(super) fn new(start_ns: u64, round_trips: RoundTrips) -> Self {
        Self {
            messages: 0,
            start_ns,
            end_ns: start_ns,
            round_trips,
            in_flight_ns: 0,
            writes: 0,
            reads: 0,
            messages_of: Vec::new(),
            usage: Usage::default(),
            polled_ns: 0,
        }
    }
}

/// A run, or one slice of it.
#[derive(Debug)]
pub struct Turn {
    /// The part that counts: of a slice, its middle.
    pub measured: Exchange,
    /// All messages that came back, including those that came while a slice settled and after it.
    pub all_messages: u64,
    /// The time after the last read of all.
    pub last_ns: u64,
}
