//! `adaptive` beside the best fixed strategy of each cell.

use crate::{Cell, Costs, LoopKind, Machine, Model, Outcome, run};
use std::time::Duration;
use tinygram_core::Strategy;

/// The most that `adaptive` holds a message when it is compared with `competitive`.
const BESIDE_COMPETITIVE: Duration = Duration::from_micros(300);

/// The fixed strategies that a program could name instead.
fn strategies(of_loop: LoopKind) -> Vec<(&'static str, Strategy)> {
    let coalesce = |micros| Strategy::Coalesce {
        hold: Duration::from_micros(micros),
    };
    let natural = if of_loop.is_threads() {
        ("combine", Strategy::Combine)
    } else {
        ("tick", Strategy::Tick)
    };
    vec![
        ("nodelay", Strategy::NoDelay),
        ("nagle", Strategy::Nagle),
        natural,
        ("coalesce:10us", coalesce(10)),
        ("coalesce:100us", coalesce(100)),
        ("coalesce:1ms", coalesce(1_000)),
    ]
}

/// The cost of each strategy in a cell, as a ratio to that of the best fixed one.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The cell's name.
    pub cell: String,
    /// The host's name.
    pub model: &'static str,
    /// The best fixed strategy.
    pub best: &'static str,
    /// Whether the time of a message decides: flat out, and where no fixed strategy keeps up.
    pub is_by_time: bool,
    /// The price of `adaptive` that holds for 300 µs at most ÷ that of `competitive` with the price of a write
    /// of one message.
    pub beside_competitive: f64,
    /// By strategy, `adaptive` last: its price ÷ that of the best fixed one, and its outcome.
    pub ratios: Vec<(&'static str, f64, Outcome)>,
}

/// Judge `adaptive` and every fixed strategy in a cell on a host. The price is the mean delay + the CPU
/// time of a message, a microsecond of each counting the same; flat out, and where no strategy keeps up
/// with the rate, it is the time of a message.
pub fn judge(cell: &Cell, machine: &Machine, model: &Model) -> Judged {
    let costs = model.costs(machine, cell.of_loop);
    let knobs = |strategy| cell.of_loop.knobs(strategy);
    let mut outcomes: Vec<_> = strategies(cell.of_loop)
        .into_iter()
        .map(|(name, strategy)| (name, run(cell, knobs(strategy), costs)))
        .collect();
    let is_overloaded = outcomes.iter().all(|(_, outcome)| outcome.is_overloaded());
    let is_by_time = is_overloaded || cell.is_flat_out();
    let price = |outcome: &Outcome| match is_by_time {
        true => outcome.us_per_message,
        false => outcome.mean_delay_us + outcome.cpu_us_per_message,
    };
    let (best, least) = outcomes
        .iter()
        .map(|(name, outcome)| (*name, price(outcome)))
        .min_by(|one, other| one.1.total_cmp(&other.1))
        .expect("there are fixed strategies");
    outcomes.push(("adaptive", run(cell, knobs(Strategy::Adaptive), costs)));
    let (bounded, competitive) = beside_competitive(cell, costs);
    Judged {
        cell: cell.name.clone(),
        model: model.name,
        best,
        is_by_time,
        beside_competitive: price(&bounded) / price(&competitive),
        ratios: outcomes
            .into_iter()
            .map(|(name, outcome)| (name, price(&outcome) / least, outcome))
            .collect(),
    }
}

/// The outcomes of `adaptive` with a bound on its holds, and of `competitive`.
fn beside_competitive(cell: &Cell, costs: Costs) -> (Outcome, Outcome) {
    let mut bounded = cell.of_loop.knobs(Strategy::Adaptive);
    bounded.max_hold = Some(BESIDE_COMPETITIVE);
    let price = Duration::from_nanos(costs.write_ns);
    let competitive = cell.of_loop.knobs(Strategy::Competitive { price });
    (run(cell, bounded, costs), run(cell, competitive, costs))
}

/// A strategy over many cells.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The strategy's name.
    pub strategy: &'static str,
    /// The greatest ratio of its price to that of the best fixed strategy of a cell.
    pub worst: f64,
    /// The cell and host of the greatest ratio.
    pub worst_cell: String,
    /// The geometric mean of the ratios.
    pub mean: f64,
    /// In how many cells it costs over 1.05 times the best.
    pub above_5_percent: usize,
    /// In how many cells it costs over 1.10 times the best.
    pub above_10_percent: usize,
    /// The number of cells.
    pub cells: usize,
}

/// Sum up the judgements, strategy by strategy.
pub fn summary(judged: &[Judged]) -> Vec<Summary> {
    let names: Vec<_> = judged.first().map_or(Vec::new(), |first| {
        first.ratios.iter().map(|(name, ..)| *name).collect()
    });
    names
        .iter()
        .enumerate()
        .map(|(index, strategy)| {
            let ratios = || judged.iter().map(|it| (it.ratios[index].1, it));
            let (worst, of) = ratios()
                .max_by(|one, other| one.0.total_cmp(&other.0))
                .expect("at least one cell was judged");
            let log_sum: f64 = ratios().map(|(ratio, _)| ratio.ln()).sum();
            Summary {
                strategy,
                worst,
                worst_cell: format!("{} ({})", of.cell, of.model),
                mean: (log_sum / judged.len() as f64).exp(),
                above_5_percent: ratios().filter(|(ratio, _)| *ratio > 1.05).count(),
                above_10_percent: ratios().filter(|(ratio, _)| *ratio > 1.10).count(),
                cells: judged.len(),
            }
        })
        .collect()
}
