//! The connection below a sender: a link, Nagle's algorithm, and a receiver that reads.

use crate::Costs;

/// The largest segment: an Ethernet frame's.
const SEGMENT_BYTES: u64 = 1_448;
/// How long a delayed acknowledgement waits (Linux' least).
const DELAYED_ACK_NS: u64 = 40_000_000;

/// What lies between sender and receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// How long a segment and its acknowledgement travel, in nanoseconds.
    pub round_trip_ns: u64,
    /// Whether the receiver delays acknowledgements, as a server does that answers each request. A
    /// receiver that only reads acknowledges with each read.
    pub delays_acks: bool,
}

impl Link {
    /// No link: what is written has arrived.
    pub const LOOPBACK: Self = Self {
        round_trip_ns: 0,
        delays_acks: false,
    };

    /// A link of this round-trip time, in milliseconds.
    pub const fn of_rtt_ms(rtt_ms: u64) -> Self {
        Self {
            round_trip_ns: rtt_ms * 1_000_000,
            delays_acks: false,
        }
    }

    /// The same link, with a receiver that delays acknowledgements.
    pub const fn delaying_acks(self) -> Self {
        Self {
            delays_acks: true,
            ..self
        }
    }
}

impl std::fmt::Display for Link {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::LOOPBACK {
            return Ok(());
        }
        write!(to, ", rtt={}ms", self.round_trip_ns / 1_000_000)?;
        to.write_str(if self.delays_acks {
            ", delayed ACKs"
        } else {
            ""
        })
    }
}

/// Messages that travel together: when they arrive, and when each was due.
#[derive(Debug)]
struct Segments {
    arrive_ns: u64,
    due_ns: Vec<u64>,
}

/// The messages that were written and are not received yet.
#[derive(Debug)]
pub(crate) struct Wire {
    link: Link,
    costs: Costs,
    has_nagle: bool,
    /// When each message was due that was written and is withheld by Nagle's algorithm.
    in_kernel: Vec<u64>,
    in_kernel_bytes: u64,
    /// When the last segment sent so far is acknowledged.
    acknowledged_ns: u64,
    under_way: Vec<Segments>,
    receiver_free_ns: u64,
    /// How long after it was due each message was received.
    pub(crate) delays_ns: Vec<u64>,
    reads: u64,
}

impl Wire {
    pub(crate) fn new(link: Link, costs: Costs, has_nagle: bool) -> Self {
        Self {
            link,
            costs,
            has_nagle,
            in_kernel: Vec::new(),
            in_kernel_bytes: 0,
            acknowledged_ns: 0,
            under_way: Vec::new(),
            receiver_free_ns: 0,
            delays_ns: Vec::new(),
            reads: 0,
        }
    }

    /// Messages of `bytes` in all, due at `due_ns`, were handed to the kernel at `at_ns`.
    pub(crate) fn write(&mut self, at_ns: u64, bytes: u64, due_ns: impl Iterator<Item = u64>) {
        self.release(at_ns);
        if !self.has_nagle {
            return self.send(at_ns, due_ns.collect());
        }
        self.in_kernel.extend(due_ns);
        self.in_kernel_bytes += bytes;
        if self.acknowledged_ns <= at_ns || self.in_kernel_bytes >= SEGMENT_BYTES {
            self.send_held(at_ns);
        }
    }

    /// All that was written is received. Returns how many acknowledgements reached the sender.
    pub(crate) fn finish(&mut self) -> u64 {
        if !self.in_kernel.is_empty() {
            self.send_held(self.acknowledged_ns);
        }
        self.read_until(u64::MAX);
        self.reads
    }

    /// Whether acknowledgements come later than the write itself; over loopback they do not.
    pub(crate) fn has_round_trip(&self) -> bool {
        self.link.round_trip_ns > 0
    }

    /// Send what Nagle's algorithm withheld, if the acknowledgement has come by now.
    fn release(&mut self, now_ns: u64) {
        if !self.in_kernel.is_empty() && self.acknowledged_ns <= now_ns {
            self.send_held(self.acknowledged_ns);
        }
    }

    fn send_held(&mut self, at_ns: u64) {
        let due_ns = std::mem::take(&mut self.in_kernel);
        self.in_kernel_bytes = 0;
        self.send(at_ns, due_ns);
        // One segment is under way, and the receiver is idle or reads it next.
        let arrive_ns = at_ns + self.link.round_trip_ns / 2;
        let read_ns = arrive_ns + self.costs.receiver_wake_ns + self.costs.read_ns;
        let delay_ns = if self.link.delays_acks {
            DELAYED_ACK_NS
        } else {
            0
        };
        self.acknowledged_ns = read_ns + delay_ns + self.link.round_trip_ns / 2;
    }

    fn send(&mut self, at_ns: u64, due_ns: Vec<u64>) {
        let arrive_ns = at_ns + self.link.round_trip_ns / 2;
        self.read_until(arrive_ns);
        self.under_way.push(Segments { arrive_ns, due_ns });
    }

    /// Every read that begins before `now_ns`: it takes all that has arrived by then.
    fn read_until(&mut self, now_ns: u64) {
        while let Some(first) = self.under_way.first() {
            let sleeps = first.arrive_ns > self.receiver_free_ns;
            let begin_ns = if sleeps {
                first.arrive_ns + self.costs.receiver_wake_ns
            } else {
                self.receiver_free_ns
            };
            if begin_ns >= now_ns {
                return;
            }
            let arrived = self
                .under_way
                .partition_point(|it| it.arrive_ns <= begin_ns);
            let end_ns = begin_ns + self.costs.read_ns;
            for segments in self.under_way.drain(..arrived) {
                let delays_ns = segments.due_ns.iter().map(|due_ns| end_ns - due_ns);
                self.delays_ns.extend(delays_ns);
            }
            self.receiver_free_ns = end_ns;
            self.reads += 1;
        }
    }
}
