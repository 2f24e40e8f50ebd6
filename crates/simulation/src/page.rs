//! The page of the simulation: the answer first.

use std::fmt::Write;
use tinygram_simulation::{
    CONFIRMING_MODELS, Grid, Judged, Machine, Model, Summary, TUNING_MODELS, judge, summary,
};

/// Seeds of the arrivals: of those that rules were tuned with, and of others.
const TUNING_SEEDS: [u64; 3] = [7, 8, 9];
const CONFIRMING_SEEDS: [u64; 3] = [101, 102, 103];
const WORST_SHOWN: usize = 10;

/// All grids on all hosts.
pub fn page(machine: &Machine) -> String {
    let tuning = judged(Grid::whole, machine, &TUNING_MODELS, &TUNING_SEEDS);
    let confirming = judged(Grid::whole, machine, &CONFIRMING_MODELS, &CONFIRMING_SEEDS);
    let slow = judged(
        Grid::slow_programs,
        machine,
        &TUNING_MODELS,
        &TUNING_SEEDS[..1],
    );
    let mut page = String::from("# Strategies in virtual time\n\n");
    let (first, second) = (adaptive(&tuning), adaptive(&confirming));
    let tick = &of("tick", &confirming);
    let _ = writeln!(
        page,
        "`adaptive` costs {:.1} % more than the best fixed strategy of a cell on average, and {:.0} % \
         more in the worst of {} cells;\non hosts and arrivals with which nothing was tuned {:.1} % and \
         {:.0} % in {} cells. `tick`, the best single fixed strategy, costs there\n{:.1} % more on \
         average and {:.0} % more in its worst cell.\n",
        100.0 * (first.mean - 1.0),
        100.0 * (first.worst - 1.0),
        first.cells,
        100.0 * (second.mean - 1.0),
        100.0 * (second.worst - 1.0),
        second.cells,
        100.0 * (tick.mean - 1.0),
        100.0 * (tick.worst - 1.0),
    );
    page.push_str(METHOD);
    part(
        &mut page,
        "Hosts and seeds with which the rule was tuned",
        &tuning,
    );
    part(&mut page, "Other hosts and seeds, run once", &confirming);
    part(
        &mut page,
        "Programs that compute 5, 20 or 60 µs before each message",
        &slow,
    );
    page
}

/// Every strategy in the cells that have `part` in their names, on each host; empty: there is none.
pub fn cells(machine: &Machine, part: &str) -> String {
    let mut text = String::new();
    for grid in [Grid::whole, Grid::slow_programs] {
        let mut cells = grid(TUNING_SEEDS[0]).cells();
        cells.retain(|cell| cell.name.contains(part));
        for model in &TUNING_MODELS {
            for cell in &cells {
                cell_told(&mut text, &judge(cell, machine, model));
            }
        }
    }
    text
}

const METHOD: &str = "\
The library's own `Coalescer` decides in models of three loops: an event loop that says when it rests, one that does not
(uvloop), and a program's own loop. What calls, iterations, sleeps and writes cost was measured (`make costs`), and is scaled to
ten hosts. A cell is a load (1,000 to 200,000 messages a second, constant, Poisson and on/off, 1 to 64 at an instant; or flat
out), a program that yields to its loop after sending or waits at once, and loopback or a link of 1 or 20 ms RTT. The price is mean
delay + CPU time of a message; flat out, and where no fixed strategy keeps up, the time of a message. Ratios are to the best fixed
strategy of the cell. There is no clock and no noise in it: the same each time.

What it leaves out: the receiver's own work, other connections, threads that share one, caches, and a host that takes the core away.

";

type GridOf = fn(u64) -> Grid;

fn judged(grid: GridOf, machine: &Machine, models: &[Model], seeds: &[u64]) -> Vec<Judged> {
    let mut all = Vec::new();
    for seed in seeds {
        let cells = grid(*seed).cells();
        for model in models {
            all.extend(cells.iter().map(|cell| judge(cell, machine, model)));
        }
    }
    all
}

fn of(strategy: &str, judged: &[Judged]) -> Summary {
    summary(judged)
        .into_iter()
        .find(|it| it.strategy == strategy)
        .expect("every strategy is summed up")
}

fn adaptive(judged: &[Judged]) -> Summary {
    of("adaptive", judged)
}

fn part(page: &mut String, title: &str, judged: &[Judged]) {
    let _ = writeln!(page, "## {title}\n");
    let _ = writeln!(
        page,
        "| strategy | worst | mean | above 1.05 | above 1.10, of {} | worst cell |",
        judged.len()
    );
    let _ = writeln!(page, "|---|--:|--:|--:|--:|---|");
    for it in summary(judged) {
        let _ = writeln!(
            page,
            "| {} | {:.2} | {:.3} | {} | {} | {} |",
            it.strategy, it.worst, it.mean, it.above_5_percent, it.above_10_percent, it.worst_cell
        );
    }
    hosts(page, judged);
    let _ = writeln!(page, "\nWhere `adaptive` costs most:\n\n```text");
    let mut worst: Vec<&Judged> = judged.iter().collect();
    worst.sort_by(|one, other| ours(other).total_cmp(&ours(one)));
    worst.dedup_by(|one, other| one.cell == other.cell);
    for judged in worst.iter().take(WORST_SHOWN) {
        cell_told(page, judged);
    }
    let _ = writeln!(page, "```\n");
}

/// `adaptive` host by host.
fn hosts(page: &mut String, judged: &[Judged]) {
    let mut names: Vec<&str> = judged.iter().map(|it| it.model).collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    let _ = writeln!(
        page,
        "\n| host | worst of `adaptive` | mean | above 1.10 |\n|---|--:|--:|--:|"
    );
    for name in names {
        let of_host: Vec<Judged> = judged
            .iter()
            .filter(|it| it.model == name)
            .cloned()
            .collect();
        let it = adaptive(&of_host);
        let _ = writeln!(
            page,
            "| {name} | {:.2} | {:.3} | {} of {} |",
            it.worst, it.mean, it.above_10_percent, it.cells
        );
    }
}

fn ours(judged: &Judged) -> f64 {
    judged.ratios.last().expect("adaptive is the last").1
}

fn cell_told(text: &mut String, judged: &Judged) {
    let _ = writeln!(
        text,
        "{} ({}): the best is {}",
        judged.cell, judged.model, judged.best
    );
    for (name, ratio, outcome) in &judged.ratios {
        let _ = writeln!(
            text,
            "  {name:14} {ratio:7.3}  mean {:8.1} p50 {:8.1} p99 {:8.1} µs  CPU {:6.2} µs  {:.3} writes",
            outcome.mean_delay_us,
            outcome.p50_us,
            outcome.p99_us,
            outcome.cpu_us_per_message,
            outcome.writes_per_message
        );
    }
}
