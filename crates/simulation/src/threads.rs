//! Threads that share a connection, and the thread that writes for them, in virtual time.
//!
//! The program's threads have one clock here: one at a time has the interpreter, or the connection's
//! lock. The writing thread has the same core or one of its own. Its visits are decided as in
//! `tinygram-net`; which messages are held, and for how long, the library's `Coalescer` decides.
//!
//! Law: events happen in the order of their times. Before the program does anything, the
//! writing thread has done all that it does by then, so that no message leaves before it is handed over.

use crate::{
    Cell, Costs, LoopKind, Outcome,
    sender::{BEGIN_NS, MESSAGE},
    source::Source,
    wire::Wire,
};
use tinygram_core::{Bytes, Coalescer, Knobs, Next, Reason};

/// On the program's own core the writing thread's wake-ups preempt nobody: it comes when the program waits,
/// or when it has waited for its turn for this long (the base slice of Linux' scheduler).
const TURN_NS: u64 = 2_800_000;

/// A message that was handed over and is not written yet.
#[derive(Clone, Copy, Debug)]
struct Handed {
    at_ns: u64,
    due_ns: u64,
}

/// The state of the writing thread.
#[derive(Clone, Copy, Debug)]
enum Writer {
    /// It sleeps until a sender tells it to come, or until this time.
    Asleep(Option<u64>),
    /// It comes at this time.
    Called(u64),
    /// It writes what it took, until this time.
    Writing(u64, Reason),
}

/// A program's threads, the messages that they hold, and the writing thread.
#[derive(Debug)]
struct Threads {
    costs: Costs,
    now_ns: u64,
    cpu_ns: u64,
    shares_core: bool,
    coalescer: Coalescer,
    held: Vec<Handed>,
    /// How many bytes the writing thread has taken out.
    taken_bytes: usize,
    writer: Writer,
    writes: u64,
    wire: Wire,
}

/// The outcome of these knobs in a cell of threads.
pub(crate) fn run(cell: &Cell, knobs: Knobs, costs: Costs) -> Outcome {
    let mut threads = Threads::new(cell, knobs, costs);
    let mut source = Source::new(cell);
    while !source.is_done() {
        if let Some(due_ns) = source.next_due_ns() {
            threads.wait(due_ns);
        }
        let begin_ns = threads.now_ns;
        for _ in 0..source.most_at_once() {
            let Some(due_ns) = source.take_due(begin_ns, threads.now_ns) else {
                break;
            };
            threads.now_ns += cell.program.work_ns;
            threads.send(due_ns);
        }
    }
    let last_due_ns = source.last_due_ns(threads.now_ns);
    threads.finish(last_due_ns)
}

impl Threads {
    fn new(cell: &Cell, knobs: Knobs, costs: Costs) -> Self {
        Self {
            costs,
            now_ns: BEGIN_NS,
            cpu_ns: 0,
            shares_core: cell.of_loop == LoopKind::ThreadsOnOneCore,
            coalescer: Coalescer::of_threads(knobs).expect("the knobs are within their ranges"),
            held: Vec::new(),
            taken_bytes: 0,
            writer: Writer::Asleep(None),
            writes: 0,
            wire: Wire::new(cell.link, costs, !knobs.strategy.wants_nodelay()),
        }
    }

    fn spend(&mut self, ns: u64) {
        self.now_ns += ns;
        self.cpu_ns += ns;
    }

    /// Sleep until a message is due, if it is not yet.
    fn wait(&mut self, due_ns: u64) {
        if due_ns <= self.now_ns {
            return;
        }
        let wakes_ns = due_ns.max(self.now_ns + self.costs.least_sleep_ns);
        self.write_until(wakes_ns);
        self.now_ns = self.now_ns.max(wakes_ns) + self.costs.wake_ns / 3;
        self.cpu_ns += self.costs.wake_ns;
    }

    /// Hand over a message that was due at `due_ns`.
    fn send(&mut self, due_ns: u64) {
        self.spend(self.costs.call_ns);
        // The program is busy: on its core the writing thread waits for a turn.
        let waits_ns = if self.shares_core { TURN_NS } else { 0 };
        self.write_until(self.now_ns - waits_ns);
        let now_ns = self.now_ns;
        self.held.push(Handed {
            at_ns: now_ns,
            due_ns,
        });
        if self.need_only_hold() {
            self.coalescer.hold(&MESSAGE, || now_ns);
        } else if self.coalescer.must_hold() {
            self.coalescer.hold(&MESSAGE, || now_ns);
            if self.coalescer.is_full() && self.taken_bytes == 0 {
                self.write_full();
            } else if self.coalescer.is_to_look() && self.coalescer.is_overdue(now_ns) {
                self.write_inline(&[], Reason::Deadline);
            }
        } else if let Next::Write(reason) = self.coalescer.on_message(&MESSAGE, || now_ns) {
            self.write_inline(&MESSAGE, reason);
        }
        if self.must_tell() {
            self.coalescer.on_told(self.now_ns);
            self.spend(self.costs.notify_ns);
            self.cpu_ns += self.costs.writer_wake_ns;
            let latency_ns = if self.shares_core {
                0
            } else {
                self.costs.writer_wake_ns
            };
            self.writer = Writer::Called(self.now_ns + latency_ns);
        }
    }

    /// Whether the message need only be held: the writing thread will come, and the policy is not asked.
    fn need_only_hold(&self) -> bool {
        let would_fill = self.coalescer.would_fill(MESSAGE.len());
        let is_expected = match self.writer {
            Writer::Asleep(None) => self.coalescer.must_hold() && !would_fill,
            Writer::Asleep(Some(_)) => !would_fill,
            _ => self.coalescer.must_hold() && !(would_fill && self.taken_bytes == 0),
        };
        is_expected && !self.coalescer.watches_time() && !self.coalescer.would_look()
    }

    fn must_tell(&self) -> bool {
        match self.writer {
            Writer::Asleep(None) => !self.held.is_empty(),
            Writer::Asleep(Some(visit_ns)) => {
                self.coalescer.is_full() || self.coalescer.is_too_late(visit_ns)
            }
            Writer::Called(_) | Writer::Writing(..) => false,
        }
    }

    /// Let the writing thread do all that it does by `until_ns`.
    fn write_until(&mut self, until_ns: u64) {
        while let Some(at_ns) = self.writer.next_ns().filter(|&at_ns| at_ns <= until_ns) {
            if self.shares_core {
                self.take_turn(at_ns.max(self.now_ns));
                continue;
            }
            match self.writer {
                Writer::Writing(end_ns, reason) => self.end_write(end_ns, reason),
                _ => self.visit(at_ns),
            }
        }
    }

    /// The writing thread comes on the program's core, and writes before anybody else runs.
    fn take_turn(&mut self, at_ns: u64) {
        self.visit(at_ns + self.costs.writer_wake_ns);
        if let Writer::Writing(end_ns, reason) = self.writer {
            self.now_ns = end_ns;
            self.end_write(end_ns, reason);
        }
    }

    /// The writing thread looks at what is held.
    fn visit(&mut self, now_ns: u64) {
        if let Writer::Asleep(_) = self.writer {
            self.cpu_ns += self.costs.writer_wake_ns;
        }
        let next = self.coalescer.on_tick(now_ns, true);
        let reason = match next {
            _ if self.held.is_empty() => None,
            _ if self.coalescer.is_full() => Some(Reason::Full),
            Next::Write(reason) => Some(reason),
            _ => None,
        };
        let Some(reason) = reason else {
            return self.rest();
        };
        self.taken_bytes = self.coalescer.take(Bytes::default(), now_ns).len();
        let took_ns = self.write(now_ns, self.taken_bytes);
        self.writer = Writer::Writing(now_ns + took_ns, reason);
    }

    fn end_write(&mut self, end_ns: u64, reason: Reason) {
        self.put_back(end_ns, reason);
        if self.held.is_empty() {
            self.rest();
        } else {
            self.writer = Writer::Called(end_ns);
        }
    }

    fn put_back(&mut self, end_ns: u64, reason: Reason) {
        let bytes = std::mem::take(&mut self.taken_bytes);
        self.coalescer.on_taken_written(bytes, reason, end_ns, true);
    }

    fn rest(&mut self) {
        self.coalescer.on_writable();
        self.writer = Writer::Asleep(self.coalescer.deadline_ns());
    }

    /// Write what is held and then the message, in its sender's time and under the lock.
    fn write_inline(&mut self, message: &[u8], reason: Reason) {
        let bytes = self.coalescer.pending().len() + message.len();
        let start_ns = self.now_ns;
        self.now_ns += self.write(start_ns, bytes);
        self.coalescer
            .on_written(bytes, message, reason, start_ns, self.now_ns);
        self.writer.wait_for_lock(self.now_ns);
    }

    /// Write a full batch in the writing thread's place.
    fn write_full(&mut self) {
        self.taken_bytes = self.coalescer.take(Bytes::default(), self.now_ns).len();
        self.now_ns += self.write(self.now_ns, self.taken_bytes);
        self.put_back(self.now_ns, Reason::Full);
        self.writer.wait_for_lock(self.now_ns);
    }

    /// Everything that is held leaves in a write that begins at `start_ns`. Returns how long it takes.
    fn write(&mut self, start_ns: u64, bytes: usize) -> u64 {
        let took_ns = self.costs.write_ns + bytes as u64 * self.costs.byte_ps / 1_000;
        self.cpu_ns += took_ns;
        self.writes += 1;
        assert_eq!(
            bytes,
            self.held.len() * MESSAGE.len(),
            "what is held leaves"
        );
        assert!(
            self.held.iter().all(|handed| handed.at_ns <= start_ns),
            "no message leaves before it is handed over"
        );
        let due_ns = self.held.drain(..).map(|handed| handed.due_ns);
        self.wire.write(start_ns + took_ns, bytes as u64, due_ns);
        took_ns
    }

    /// The end: the writing thread writes what is held.
    fn finish(mut self, last_due_ns: u64) -> Outcome {
        while !self.held.is_empty() || self.taken_bytes > 0 {
            let at_ns = self.writer.next_ns().expect("it comes for what is held");
            self.now_ns = self.now_ns.max(at_ns);
            self.write_until(at_ns);
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
}

impl Writer {
    /// When the writing thread does something next.
    fn next_ns(self) -> Option<u64> {
        match self {
            Self::Asleep(at_ns) => at_ns,
            Self::Called(at_ns) | Self::Writing(at_ns, _) => Some(at_ns),
        }
    }

    /// The connection's lock is held until `until_ns`.
    fn wait_for_lock(&mut self, until_ns: u64) {
        match self {
            Self::Called(at_ns) | Self::Asleep(Some(at_ns)) => *at_ns = until_ns.max(*at_ns),
            Self::Asleep(None) | Self::Writing(..) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grid, Link, Load, Machine, Program, TUNING_MODELS};
    use proptest::prelude::*;
    use std::time::Duration;
    use tinygram_core::Strategy as Rule;

    fn rules() -> impl Strategy<Value = Rule> {
        let micros = (1u64..1_000).prop_map(Duration::from_micros);
        prop_oneof![
            Just(Rule::Adaptive),
            Just(Rule::Combine),
            Just(Rule::NoDelay),
            micros.clone().prop_map(|hold| Rule::Coalesce { hold }),
            micros.prop_map(|price| Rule::Competitive { price }),
        ]
    }

    proptest! {
        /// The model itself asserts this at each write.
        #[test]
        fn every_message_leaves_once_and_none_before_it_is_handed_over(
            gaps_ns in prop::collection::vec(0u64..60_000, 1..400),
            has_bursts: bool,
            shares_core: bool,
            rule in rules(),
            max_bytes in 100usize..20_000,
            model in prop::sample::select(&TUNING_MODELS[..]),
        ) {
            let of_loop = if shares_core {
                LoopKind::ThreadsOnOneCore
            } else {
                LoopKind::ThreadsOnTwoCores
            };
            let mut due_ns = vec![0];
            for (index, gap_ns) in gaps_ns.iter().enumerate() {
                let is_within = has_bursts && index % 20 > 0;
                due_ns.push(due_ns[index] + if is_within { gap_ns / 100 } else { *gap_ns });
            }
            let messages = due_ns.len();
            let cell = Cell {
                name: String::new(),
                of_loop,
                program: Program { work_ns: 0, yields: true },
                link: Link::LOOPBACK,
                load: Load::Paced(due_ns),
                is_random: true,
            };
            let mut knobs = Knobs::of_threads(rule);
            knobs.max_bytes = max_bytes;
            let outcome = run(&cell, knobs, model.costs(&Machine::measured(), of_loop));
            prop_assert_eq!(outcome.messages, messages);
            prop_assert!(outcome.writes_per_message <= 1.0);
        }
    }

    #[test]
    fn a_program_that_never_waits_has_its_own_core_for_itself_until_the_writing_thread_has_its_turn()
     {
        let mut grid = Grid::threads(1);
        grid.rates_per_s.clear();
        let cells = grid.cells();
        let writes = |of_loop: LoopKind| {
            let cell = cells.iter().find(|cell| cell.of_loop == of_loop).unwrap();
            let costs = TUNING_MODELS[0].costs(&Machine::measured(), of_loop);
            run(cell, Knobs::of_threads(Rule::Combine), costs).writes_per_message
        };
        let (one, two) = (
            writes(LoopKind::ThreadsOnOneCore),
            writes(LoopKind::ThreadsOnTwoCores),
        );
        assert!(one < two / 4.0, "{one} {two}");
    }
}
