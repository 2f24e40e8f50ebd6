//! The loads, loops, programs and links of a grid.

use crate::Link;
use tinygram_core::{Knobs, Strategy};
use tinygram_load::schedule::{Arrival, Schedule};

/// The loop that drives the sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// An event loop that says when it is about to wait: ours on the stock loop.
    Resting,
    /// An event loop that does not: uvloop.
    Foreign,
    /// A program's own loop around a blocking socket.
    Plain,
    /// Threads that share a connection, on one core with the thread that writes for them.
    ThreadsOnOneCore,
    /// The same, but the writing thread has a core of its own.
    ThreadsOnTwoCores,
}

impl LoopKind {
    /// Whether threads share the connection, and a writing thread writes what they hold.
    pub fn is_threads(self) -> bool {
        matches!(self, Self::ThreadsOnOneCore | Self::ThreadsOnTwoCores)
    }

    /// The knobs of a strategy in this loop, the others at their defaults.
    pub fn knobs(self, strategy: Strategy) -> Knobs {
        if self.is_threads() {
            Knobs::of_threads(strategy)
        } else {
            Knobs::new(strategy)
        }
    }
}

/// What the program does around its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// How long it computes before it hands over each message.
    pub work_ns: u64,
    /// Whether it yields to its loop once more after it has sent, as a coroutine does that sleeps for 0 s.
    /// Otherwise the loop waits at once.
    pub yields: bool,
}

/// When messages are handed over.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// At times of their own, in nanoseconds from the start; never decreasing.
    Paced(Vec<u64>),
    /// `messages` of them in all, `burst` in each iteration, as fast as the loop lets them.
    FlatOut {
        /// How many in all.
        messages: u64,
        /// How many in each iteration.
        burst: u64,
    },
}

/// A load on a loop over a link.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The cell's name in tables.
    pub name: String,
    /// The loop that drives the sending.
    pub of_loop: LoopKind,
    /// What the program does around its messages.
    pub program: Program,
    /// The link between sender and receiver.
    pub link: Link,
    /// When messages are handed over.
    pub load: Load,
    /// Whether another seed gives another load.
    pub is_random: bool,
}

impl Cell {
    /// Whether its messages come as fast as the loop lets them.
    pub fn is_flat_out(&self) -> bool {
        matches!(self.load, Load::FlatOut { .. })
    }
}

/// The parts whose combinations are the cells.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Each with every program, link and load.
    pub loops: Vec<LoopKind>,
    /// Programs; those that could not keep up, whatever sending costs, are left out.
    pub programs: Vec<Program>,
    /// Links.
    pub links: Vec<Link>,
    /// Rates in messages per second; the cells flat out are added to these.
    pub rates_per_s: Vec<f64>,
    /// Messages that are due at one instant.
    pub bursts: Vec<u64>,
    /// Messages of each paced cell, and fifty times as many flat out.
    pub messages: u64,
    /// Seed of the random arrivals.
    pub seed: u64,
}

const ARRIVALS: [(&str, Arrival); 3] = [
    ("constant", Arrival::Constant),
    ("poisson", Arrival::Poisson),
    ("onoff", Arrival::OnOff),
];
/// A schedule is as long as this at least, so that on/off has some phases.
const LEAST_DURATION_NS: u64 = 100_000_000;

impl Grid {
    /// The grid that `make test` holds below its bounds: 156 cells.
    pub fn small(seed: u64) -> Self {
        Self {
            loops: vec![LoopKind::Resting, LoopKind::Foreign, LoopKind::Plain],
            programs: vec![Program {
                work_ns: 0,
                yields: true,
            }],
            links: vec![Link::LOOPBACK],
            rates_per_s: vec![1e3, 1e4, 5e4, 2e5],
            bursts: vec![1, 4, 16, 64],
            messages: 2_000,
            seed,
        }
    }

    /// All loads on all loops over all links: 876 cells.
    pub fn whole(seed: u64) -> Self {
        Self {
            programs: [true, false]
                .map(|yields| Program { work_ns: 0, yields })
                .to_vec(),
            links: vec![Link::LOOPBACK, Link::of_rtt_ms(1), Link::of_rtt_ms(20)],
            ..Self::small(seed)
        }
    }

    /// Programs that compute before each message, so that an iteration with many messages is long.
    pub fn slow_programs(seed: u64) -> Self {
        Self {
            programs: [5_000, 20_000, 60_000]
                .map(|work_ns| Program {
                    work_ns,
                    yields: false,
                })
                .to_vec(),
            ..Self::small(seed)
        }
    }

    /// The loads of [`Grid::small`] by threads: 104 cells.
    pub fn threads(seed: u64) -> Self {
        Self {
            loops: vec![LoopKind::ThreadsOnOneCore, LoopKind::ThreadsOnTwoCores],
            ..Self::small(seed)
        }
    }

    /// All cells, in order. Flat out, the time of a message depends neither on the link nor on whether the
    /// program yields: there is one such cell for each loop, burst and work.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (load_name, load, is_random) in self.loads() {
            let is_flat_out = matches!(load, Load::FlatOut { .. });
            for &of_loop in &self.loops {
                for &program in &self.programs {
                    for &link in &self.links {
                        let is_again = is_flat_out
                            && (link != self.links[0] || program.yields != self.programs[0].yields);
                        if program.can_keep_up(&load) && !is_again {
                            cells.push(Cell {
                                name: format!("{of_loop:?} {load_name}{program}{link}"),
                                of_loop,
                                program,
                                link,
                                load: load.clone(),
                                is_random,
                            });
                        }
                    }
                }
            }
        }
        cells
    }

    fn loads(&self) -> Vec<(String, Load, bool)> {
        let mut loads = Vec::new();
        for &burst in &self.bursts {
            for &rate_per_s in &self.rates_per_s {
                for (name, arrival) in ARRIVALS {
                    let duration_ns = (self.messages as f64 / rate_per_s * 1e9) as u64;
                    let duration_ns = duration_ns.max(LEAST_DURATION_NS);
                    let schedule =
                        Schedule::new(rate_per_s, arrival, burst, duration_ns, self.seed)
                            .expect("the rates and bursts of a grid fit its duration");
                    let named = format!("{}k/s {name} × {burst}", rate_per_s / 1e3);
                    let load = Load::Paced(schedule.all_due_ns().collect());
                    loads.push((named, load, arrival != Arrival::Constant));
                }
            }
            let messages = 50 * self.messages;
            let load = Load::FlatOut { messages, burst };
            loads.push((format!("flat out × {burst}"), load, false));
        }
        loads
    }
}

impl Program {
    /// Whether the program's own work leaves it time for the messages that are due.
    fn can_keep_up(self, load: &Load) -> bool {
        let Load::Paced(due_ns) = load else {
            return true;
        };
        self.work_ns * (due_ns.len() as u64) < due_ns.last().copied().unwrap_or(0) / 2
    }
}

impl std::fmt::Display for Program {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.work_ns > 0 {
            write!(to, ", {} µs of work each", self.work_ns / 1_000)?;
        }
        to.write_str(if self.yields { "" } else { ", waits at once" })
    }
}
