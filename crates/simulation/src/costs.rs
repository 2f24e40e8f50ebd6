//! The costs of operations in a model of a host.

use crate::LoopKind;
use std::collections::HashMap;
use thiserror::Error;

/// The costs of operations, in nanoseconds of time and of CPU time unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// To hand a message over.
    pub call_ns: u64,
    /// An iteration of the loop, without messages.
    pub iteration_ns: u64,
    /// To tell the library that an iteration ends.
    pub tick_ns: u64,
    /// CPU time to fall asleep and be woken; a third of it passes before the program runs again.
    pub wake_ns: u64,
    /// The shortest sleep.
    pub least_sleep_ns: u64,
    /// How late a sleep ends that only a deadline ends.
    pub timer_slack_ns: u64,
    /// A write, without its bytes.
    pub write_ns: u64,
    /// Each byte of a write, in picoseconds.
    pub byte_ps: u64,
    /// To wake a thread that sleeps.
    pub notify_ns: u64,
    /// CPU time of a thread that is woken, or whose time has come; on a core of its own it runs this much
    /// later.
    pub writer_wake_ns: u64,
    /// At the receiver: to be woken.
    pub receiver_wake_ns: u64,
    /// At the receiver: to read once.
    pub read_ns: u64,
    /// At the sender: CPU time for an acknowledgement that comes over a link.
    pub acknowledgement_ns: u64,
}

/// A host as factors of a machine's costs, so that a rule is not tuned to one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// The host's name.
    pub name: &'static str,
    /// The time of the program and its loop.
    pub iteration: f64,
    /// The time of a write, without its bytes.
    pub write: f64,
    /// The cost of a sleep, and its least length.
    pub wake: f64,
}

/// The hosts of the tuning grid.
pub const TUNING_MODELS: [Model; 6] = [
    Model::new("as measured", 1.0, 1.0, 1.0),
    Model::new("slow program", 2.0, 1.0, 1.0),
    Model::new("fast program", 0.5, 1.0, 1.0),
    Model::new("cheap writes and sleeps", 1.0, 0.2, 0.5),
    Model::new("dear writes and sleeps", 1.0, 2.0, 2.0),
    // An iteration costs nearly what a write does, as on an Xeon of November 2026 between sleeps.
    Model::new("dear iterations, cheap writes", 3.7, 0.45, 0.8),
];

/// Hosts between and beyond [`TUNING_MODELS`], with which nothing was tuned.
pub const CONFIRMING_MODELS: [Model; 5] = [
    Model::new("a little slower", 1.4, 1.2, 1.0),
    Model::new("slow program, cheap writes", 3.0, 0.6, 1.5),
    Model::new("fast program, dear writes", 0.7, 1.6, 0.7),
    Model::new("cheap sleeps", 0.9, 0.8, 0.4),
    Model::new("everything dear", 2.5, 2.5, 2.5),
];

impl Model {
    const fn new(name: &'static str, iteration: f64, write: f64, wake: f64) -> Self {
        Self {
            name,
            iteration,
            write,
            wake,
        }
    }

    /// The costs of a loop on a host that differs from the machine by these factors.
    pub fn costs(&self, machine: &Machine, of_loop: LoopKind) -> Costs {
        let measured = machine.costs(of_loop);
        let scaled = |ns: u64, factor: f64| (ns as f64 * factor).round() as u64;
        Costs {
            call_ns: scaled(measured.call_ns, self.iteration),
            iteration_ns: scaled(measured.iteration_ns, self.iteration),
            tick_ns: scaled(measured.tick_ns, self.iteration),
            wake_ns: scaled(measured.wake_ns, self.wake),
            least_sleep_ns: scaled(measured.least_sleep_ns, self.wake),
            write_ns: scaled(measured.write_ns, self.write),
            notify_ns: scaled(measured.notify_ns, self.wake),
            writer_wake_ns: scaled(measured.writer_wake_ns, self.wake),
            ..measured
        }
    }
}

/// The number of a measured interval that is taken for the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The median of the rounds.
    Median,
    /// The lower end of the interval.
    Low,
    /// The upper end of the interval.
    High,
}

/// The costs of one machine, which `benches/costs.py` measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Median, low and high.
    by_name: HashMap<String, [u64; 3]>,
    bound: Bound,
}

/// An error in a file of costs.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CostsError {
    /// A line is not a name and three numbers.
    #[error("line {0} is {1:?}: a name and three numbers are needed, median, low and high")]
    Line(usize, String),
    /// A cost is missing.
    #[error("there is no {0}: measure again, with make costs")]
    Missing(String),
}

/// Costs that are not measured: telling the writing thread and changing to it, telling our loop of an
/// iteration's end, having another loop call us, a read when bytes are there, an acknowledgement, and the
/// kernel's slack of timers.
const NOTIFY_NS: u64 = 2_500;
const WRITER_WAKE_NS: u64 = 5_000;
const RESTING_TICK_NS: u64 = 100;
const FOREIGN_TICK_NS: u64 = 500;
const READ_NS: u64 = 1_500;
const ACKNOWLEDGEMENT_NS: u64 = 1_000;
const TIMER_SLACK_NS: u64 = 50_000;

impl Machine {
    /// The machine that was measured, whose costs lie beside the sources.
    pub fn measured() -> Self {
        Self::parse(include_str!("../costs.txt")).expect("a test reads it")
    }

    /// Read the text that `benches/costs.py` writes.
    ///
    /// # Errors
    /// [`CostsError`]: the line that is wrong, or the cost that is missing.
    pub fn parse(text: &str) -> Result<Self, CostsError> {
        let mut by_name = HashMap::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let words: Vec<_> = line.split_whitespace().collect();
            let numbers: Result<Vec<u64>, _> = words[1..].iter().map(|it| it.parse()).collect();
            match numbers.as_deref() {
                Ok(&[median, low, high]) => {
                    by_name.insert(words[0].to_owned(), [median, low, high])
                }
                _ => return Err(CostsError::Line(index + 1, line.to_owned())),
            };
        }
        let machine = Self {
            by_name,
            bound: Bound::Median,
        };
        for of_loop in [LoopKind::Resting, LoopKind::Foreign, LoopKind::Plain] {
            machine.find(of_loop)?;
        }
        Ok(machine)
    }

    /// The machine on which every cost is at this end of its interval.
    pub fn at(&self, bound: Bound) -> Self {
        Self {
            bound,
            ..self.clone()
        }
    }

    /// The costs in a loop of this kind.
    pub fn costs(&self, of_loop: LoopKind) -> Costs {
        self.find(of_loop).expect("checked when it was read")
    }

    fn find(&self, of_loop: LoopKind) -> Result<Costs, CostsError> {
        let cost = |name: &str| {
            self.by_name
                .get(name)
                .map(|interval| interval[self.bound as usize])
                .ok_or_else(|| CostsError::Missing(name.to_owned()))
        };
        let (kind, tick_ns, timer_slack_ns) = match of_loop {
            LoopKind::Resting => ("resting", RESTING_TICK_NS, 0),
            LoopKind::Foreign => ("foreign", FOREIGN_TICK_NS, 0),
            _ => ("plain", RESTING_TICK_NS, TIMER_SLACK_NS),
        };
        let of_kind = |name: &str| cost(&format!("{kind}.{name}"));
        let receive_ns = cost("receive_ns")?;
        Ok(Costs {
            call_ns: of_kind("call_ns")?,
            iteration_ns: of_kind("iteration_ns")?,
            tick_ns,
            wake_ns: of_kind("wake_ns")?,
            least_sleep_ns: receive_ns,
            timer_slack_ns,
            write_ns: cost("write_ns")?,
            byte_ps: cost("byte_ps")?,
            notify_ns: NOTIFY_NS,
            writer_wake_ns: WRITER_WAKE_NS,
            receiver_wake_ns: receive_ns.saturating_sub(READ_NS),
            read_ns: READ_NS,
            acknowledgement_ns: ACKNOWLEDGEMENT_NS,
        })
    }
}
