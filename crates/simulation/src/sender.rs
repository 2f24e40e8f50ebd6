//! The caller's side of a coalescer, in virtual time.

use crate::{Cell, Costs, LoopKind, Outcome, wire::Wire};
use tinygram_core::{Coalescer, Knobs, Next, Reason};

/// The message of all cells, as long as the bench's default.
pub(crate) const MESSAGE: [u8; 100] = [0; 100];
/// Virtual time does not begin at zero: a policy must not depend on it.
pub(crate) const BEGIN_NS: u64 = 1_000_000_000;

/// A program's thread with a coalescer, the messages that it holds, and its costs so far.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) costs: Costs,
    pub(crate) now_ns: u64,
    cpu_ns: u64,
    coalescer: Coalescer,
    /// Whether it is a plain loop's: each message that joins others looks whether these are due.
    is_plain: bool,
    /// When each of the held messages was due.
    held_due_ns: Vec<u64>,
    is_armed: bool,
    writes: u64,
    wire: Wire,
}

impl Sender {
    pub(crate) fn new(cell: &Cell, knobs: Knobs, costs: Costs) -> Self {
        let coalescer = match cell.of_loop {
            LoopKind::Resting => Coalescer::of_resting_loop(knobs),
            LoopKind::Foreign => Coalescer::of_foreign_loop(knobs),
            _ => Coalescer::new(knobs),
        };
        Self {
            costs,
            now_ns: BEGIN_NS,
            cpu_ns: 0,
            coalescer: coalescer.expect("the knobs are within their ranges"),
            is_plain: cell.of_loop == LoopKind::Plain,
            held_due_ns: Vec::new(),
            is_armed: false,
            writes: 0,
            wire: Wire::new(cell.link, costs, !knobs.strategy.wants_nodelay()),
        }
    }

    /// The time that is `offset_ns` after the start.
    pub(crate) fn due_ns(offset_ns: u64) -> u64 {
        BEGIN_NS + offset_ns
    }

    /// Be busy for `ns`.
    pub(crate) fn spend(&mut self, ns: u64) {
        self.now_ns += ns;
        self.cpu_ns += ns;
    }

    /// Sleep until `at_ns`, `late_ns` longer, and be woken.
    pub(crate) fn sleep_until(&mut self, at_ns: u64, late_ns: u64) {
        let least_ns = self.now_ns + self.costs.least_sleep_ns;
        self.now_ns = (at_ns + late_ns).max(least_ns) + self.costs.wake_ns / 3;
        self.cpu_ns += self.costs.wake_ns;
    }

    /// Hand over a message that was due at `due_ns`.
    pub(crate) fn send(&mut self, due_ns: u64) {
        self.spend(self.costs.call_ns);
        self.held_due_ns.push(due_ns);
        let now_ns = self.now_ns;
        match self.coalescer.on_message(&MESSAGE, || now_ns) {
            Next::Wait if self.is_plain && self.coalescer.is_due(now_ns) => {
                self.write(&[], Reason::Deadline);
            }
            Next::Wait => {}
            Next::Arm => self.is_armed = true,
            Next::Write(reason) => {
                self.write(&MESSAGE, reason);
                self.is_armed |= self.coalescer.wants_tick();
            }
            Next::WriteFirst | Next::Refuse => unreachable!("nothing bounds what is held"),
        }
    }

    /// Whether the loop must tell of the end of an iteration.
    pub(crate) fn is_armed(&self) -> bool {
        self.is_armed
    }

    /// An iteration ends.
    pub(crate) fn tick(&mut self, will_block: bool) {
        self.spend(self.costs.tick_ns);
        if let Next::Write(reason) = self.coalescer.on_tick(self.now_ns, will_block) {
            self.write(&[], reason);
        }
        self.is_armed = !self.held_due_ns.is_empty() || self.coalescer.wants_tick();
    }

    /// The time by which a tick must come, even if no iteration ends.
    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        self.coalescer.deadline_ns()
    }

    /// Whether held messages leave at a time, and not at the end of an iteration.
    pub(crate) fn waits_for_time(&self) -> bool {
        !self.held_due_ns.is_empty() && self.coalescer.waits_for_time()
    }

    /// Whether anything is held.
    pub(crate) fn holds(&self) -> bool {
        !self.held_due_ns.is_empty()
    }

    /// The end: what is held leaves.
    pub(crate) fn finish(mut self, last_due_ns: u64) -> Outcome {
        if self.holds() {
            self.write(&[], Reason::Asked);
        }
        let acknowledgements = self.wire.finish();
        if self.wire.has_round_trip() {
            self.cpu_ns += acknowledgements * self.costs.acknowledgement_ns;
        }
        Outcome::new(
            self.wire.delays_ns,
            self.writes,
            self.cpu_ns,
            self.now_ns - BEGIN_NS,
            self.now_ns.saturating_sub(last_due_ns),
        )
    }

    fn write(&mut self, message: &[u8], reason: Reason) {
        let bytes = self.coalescer.pending().len() + message.len();
        let start_ns = self.now_ns;
        self.spend(self.costs.write_ns + bytes as u64 * self.costs.byte_ps / 1_000);
        self.writes += 1;
        let due_ns = self.held_due_ns.drain(..);
        self.wire.write(self.now_ns, bytes as u64, due_ns);
        self.coalescer
            .on_written(bytes, message, reason, start_ns, self.now_ns);
    }
}
