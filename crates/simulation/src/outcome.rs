//! The outcome of a strategy in a cell.

/// Mean, median and tail of the time from due to received, and what a message cost the sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How many messages were received.
    pub messages: usize,
    /// The mean time from due to received.
    pub mean_delay_us: f64,
    /// Its median.
    pub p50_us: f64,
    /// Its 99th percentile.
    pub p99_us: f64,
    /// The sender's CPU time, without the program's own work.
    pub cpu_us_per_message: f64,
    /// The time of a message: of use flat out, and where no strategy keeps up.
    pub us_per_message: f64,
    /// Writes by the sender.
    pub writes_per_message: f64,
    /// How long after it was due the last message was sent, as a share of the whole time.
    pub lag: f64,
}

impl Outcome {
    /// All `delays_ns` of the messages, which took the sender `elapsed_ns`, `cpu_ns` of it CPU time, and
    /// ended `lag_ns` after the last was due.
    pub(crate) fn new(
        mut delays_ns: Vec<u64>,
        writes: u64,
        cpu_ns: u64,
        elapsed_ns: u64,
        lag_ns: u64,
    ) -> Self {
        delays_ns.sort_unstable();
        let messages = delays_ns.len();
        let each_us = |ns: u64| ns as f64 / 1e3 / messages as f64;
        let percentile_us = |percent: usize| delays_ns[(messages - 1) * percent / 100] as f64 / 1e3;
        Self {
            messages,
            mean_delay_us: each_us(delays_ns.iter().sum()),
            p50_us: percentile_us(50),
            p99_us: percentile_us(99),
            cpu_us_per_message: each_us(cpu_ns),
            us_per_message: each_us(elapsed_ns),
            writes_per_message: writes as f64 / messages as f64,
            lag: lag_ns as f64 / elapsed_ns as f64,
        }
    }

    /// Whether the strategy did not keep up: the lag at the end is over a twentieth of the time.
    pub fn is_overloaded(&self) -> bool {
        self.lag > 0.05
    }
}
