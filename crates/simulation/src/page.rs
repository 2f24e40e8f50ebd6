//! The page of the simulation: the answer first.

use std::{
    collections::{BTreeSet, HashSet},
    fmt::Write,
};
use tinygram_simulation::{
    Bound, CONFIRMING_MODELS, Grid, Judged, Link, LoopKind, Machine, Model, Summary, TUNING_MODELS,
    judge, summary,
};

/// Seeds of the arrivals.
const TUNING_SEEDS: [u64; 3] = [7, 8, 9];
const CONFIRMING_SEEDS: [u64; 3] = [101, 102, 103];
const WORST_SHOWN: usize = 6;

/// The grids by which rules are tuned.
pub fn page(machine: &Machine) -> String {
    let on_hosts = |grid: GridOf| judged(grid, machine, &TUNING_MODELS, &TUNING_SEEDS);
    let loops = on_hosts(Grid::whole);
    let threads = on_hosts(Grid::threads);
    let mut page = String::from("# Strategies in virtual time\n\n");
    told(&mut page, &loops, &threads);
    page.push('\n');
    page.push_str(&method(machine));
    part(&mut page, "Loops, on loopback and over links", &loops);
    part(&mut page, "Threads that share a connection", &threads);
    for (title, grid) in OTHER_GRIDS {
        let found = judged(grid, machine, &TUNING_MODELS, &TUNING_SEEDS[..1]);
        part(&mut page, title, &found);
    }
    ends_of_intervals(&mut page, machine);
    page
}

/// The same loads with seeds and on hosts with which nothing was tuned: look at it once, when a rule is
/// finished.
pub fn confirmation(machine: &Machine) -> String {
    let on_hosts = |grid: GridOf| judged(grid, machine, &CONFIRMING_MODELS, &CONFIRMING_SEEDS);
    let loops = on_hosts(Grid::whole);
    let threads = on_hosts(Grid::threads);
    let mut page =
        String::from("# Strategies in virtual time, on other hosts and with other seeds\n\n");
    page.push_str("The same loads as in [simulation.md](simulation.md), which has the method, on five other hosts.\n\n");
    told(&mut page, &loops, &threads);
    page.push('\n');
    part(&mut page, "Loops, on loopback and over links", &loops);
    part(&mut page, "Threads that share a connection", &threads);
    page
}

/// Grids of which one seed suffices.
const OTHER_GRIDS: [(&str, GridOf); 4] = [
    (
        "Programs that compute 5, 20 or 60 µs before each message",
        Grid::slow_programs,
    ),
    (
        "Loops over a link whose receiver delays its acknowledgements",
        |seed| Grid {
            links: vec![Link::of_rtt_ms(1).delaying_acks()],
            ..Grid::small(seed)
        },
    ),
    ("Threads over links of 1 and 20 ms", |seed| Grid {
        links: vec![Link::of_rtt_ms(1), Link::of_rtt_ms(20)],
        ..Grid::threads(seed)
    }),
    (
        "Threads over a link whose receiver delays its acknowledgements",
        |seed| Grid {
            links: vec![Link::of_rtt_ms(1).delaying_acks()],
            ..Grid::threads(seed)
        },
    ),
];

/// How much `adaptive` costs more than the best fixed strategy, a line for each grid.
fn told(page: &mut String, loops: &Both, threads: &Both) {
    for (name, natural, all) in [
        ("loops, paced", "tick", &loops.0),
        ("loops, flat out", "tick", &loops.1),
        ("threads, paced", "combine", &threads.0),
        ("threads, flat out", "combine", &threads.1),
    ] {
        let (ours, fixed) = (of("adaptive", all), of(natural, all));
        let _ = writeln!(
            page,
            "- {name}: `adaptive` costs {:.1} % more than the best fixed strategy of a cell on average, and \
             {:.0} % in the worst\n  of {} cells; `{natural}` {:.1} % and {:.0} %.",
            100.0 * (ours.mean - 1.0),
            100.0 * (ours.worst - 1.0),
            ours.cells,
            100.0 * (fixed.mean - 1.0),
            100.0 * (fixed.worst - 1.0),
        );
    }
    for (name, both) in [("loops", loops), ("threads", threads)] {
        let of_all = both.0.iter().chain(&both.1);
        let worst = of_all
            .max_by(|one, other| one.beside_competitive.total_cmp(&other.beside_competitive))
            .expect("a grid has cells");
        let _ = writeln!(
            page,
            "- {name}: `adaptive` that holds for 300 µs at most costs no more than {:.2} times `competitive` with the price \
             of a write\n  ({}, {}).",
            worst.beside_competitive, worst.cell, worst.model,
        );
    }
}

/// The figures of `adaptive` if every cost were at the lower, or the upper, end of its interval.
fn ends_of_intervals(page: &mut String, machine: &Machine) {
    let _ = writeln!(
        page,
        "## Costs at the ends of their measured intervals\n\n\
         `adaptive` on the host as measured, over the loads on loopback.\n\n\
         | costs | cells | worst | mean | above 1.10 |\n|---|---|--:|--:|--:|"
    );
    for (end, bound) in [
        ("where the intervals begin", Bound::Low),
        ("medians", Bound::Median),
        ("where the intervals end", Bound::High),
    ] {
        let machine = machine.at(bound);
        for (name, grid) in [("loops", Grid::small as GridOf), ("threads", Grid::threads)] {
            let (mut all, flat_out) =
                judged(grid, &machine, &TUNING_MODELS[..1], &TUNING_SEEDS[..1]);
            all.extend(flat_out);
            let it = of("adaptive", &all);
            let _ = writeln!(
                page,
                "| {end} | {name} | {:.2} | {:.3} | {} of {} |",
                it.worst, it.mean, it.above_10_percent, it.cells
            );
        }
    }
}

/// Every strategy in the cells that have `part` in their names, on each host; empty: there is none.
pub fn cells(machine: &Machine, part: &str) -> String {
    let mut text = String::new();
    let others = OTHER_GRIDS.map(|(_, grid)| grid);
    for grid in [Grid::whole as GridOf, Grid::threads]
        .into_iter()
        .chain(others)
    {
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

/// What the models are, and what is guessed in them.
fn method(machine: &Machine) -> String {
    let [ours, foreign, plain] =
        [LoopKind::Resting, LoopKind::Foreign, LoopKind::Plain].map(|it| machine.costs(it));
    let us = |ns: u64| ns as f64 / 1e3;
    format!(
        "\
The library's own `Coalescer` decides in models of three loops: an event loop that says when it rests, one that does not
(uvloop), and a program's own loop; and of threads that share a connection, on the core of the thread that writes for them and
beside it. What calls, iterations, sleeps and writes cost was measured (`make costs`), and is scaled to six hosts; five others
are for confirming a finished rule (`make simulation-confirm`). A cell is a load (1,000 to 200,000 messages a second, constant,
Poisson and on/off, 1 to 64 at an instant; or flat out), a program that yields to its loop after sending or waits at once, and
loopback or a link of 1 or 20 ms RTT. The price is mean delay + CPU time of a message; flat out, and where no fixed strategy
keeps up, the time of a message. Ratios are to the best fixed strategy of the cell. There is no clock and no noise in it: the
same each time. The first two grids have three seeds, the others one.

What it leaves out: the receiver's work beyond waking and reading, other connections, waits for a lock, caches, a host that
takes the core away, and as fixed strategies holds between 10 and 100 µs. `nagle` pays for a write of each message in full, so
that loads which threads lose to it on a host are not lost here. Seven costs are guessed: telling a thread and changing to it
({} and {} µs), telling our loop of an iteration's end ({}), having another loop call us ({}), a read when bytes are there
({}), an acknowledgement that comes over a link ({}), and the kernel's slack of a plain loop's timers ({}).

",
        us(ours.notify_ns),
        us(ours.writer_wake_ns),
        us(ours.tick_ns),
        us(foreign.tick_ns),
        us(ours.read_ns),
        us(ours.acknowledgement_ns),
        us(plain.timer_slack_ns),
    )
}

type GridOf = fn(u64) -> Grid;
/// Paced cells, and those flat out.
type Both = (Vec<Judged>, Vec<Judged>);

/// Every cell on each host; with the later seeds, only the cells that depend on the seed.
fn judged(grid: GridOf, machine: &Machine, models: &[Model], seeds: &[u64]) -> Both {
    let mut both = Both::default();
    for seed in seeds {
        let mut cells = grid(*seed).cells();
        cells.retain(|cell| cell.is_random || *seed == seeds[0]);
        for model in models {
            for cell in &cells {
                let all = if cell.is_flat_out() {
                    &mut both.1
                } else {
                    &mut both.0
                };
                all.push(judge(cell, machine, model));
            }
        }
    }
    both
}

fn of(strategy: &str, judged: &[Judged]) -> Summary {
    summary(judged)
        .into_iter()
        .find(|it| it.strategy == strategy)
        .expect("every strategy is summed up")
}

fn part(page: &mut String, title: &str, both: &Both) {
    let _ = writeln!(page, "## {title}\n");
    for (name, judged) in [("Paced", &both.0), ("Flat out", &both.1)] {
        table(page, name, judged);
        hosts(page, judged);
        let _ = writeln!(page, "\nWhere `adaptive` costs most:\n\n```text");
        let mut worst: Vec<&Judged> = judged.iter().collect();
        worst.sort_by(|one, other| ours(other).total_cmp(&ours(one)));
        let mut shown = HashSet::new();
        worst.retain(|judged| shown.insert(&judged.cell));
        for judged in worst.iter().take(WORST_SHOWN) {
            cell_told(page, judged);
        }
        let _ = writeln!(page, "```\n");
    }
}

fn table(page: &mut String, name: &str, judged: &[Judged]) {
    let by_time = judged.iter().filter(|it| it.is_by_time).count();
    let _ = writeln!(
        page,
        "{name}: {} cells, {by_time} of them decided by the time of a message.\n",
        judged.len()
    );
    let _ = writeln!(
        page,
        "| strategy | worst | mean | above 1.05 | above 1.10 | worst cell |"
    );
    let _ = writeln!(page, "|---|--:|--:|--:|--:|---|");
    for it in summary(judged) {
        let _ = writeln!(
            page,
            "| {} | {:.2} | {:.3} | {} | {} | {} |",
            it.strategy, it.worst, it.mean, it.above_5_percent, it.above_10_percent, it.worst_cell
        );
    }
}

/// `adaptive` host by host.
fn hosts(page: &mut String, judged: &[Judged]) {
    let names: BTreeSet<&str> = judged.iter().map(|it| it.model).collect();
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
        let it = of("adaptive", &of_host);
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
            "  {name:14} {ratio:7.3}  mean {:8.1} p50 {:8.1} p99 {:8.1} µs  CPU {:6.2} time {:6.2} µs  {:.3} writes",
            outcome.mean_delay_us,
            outcome.p50_us,
            outcome.p99_us,
            outcome.cpu_us_per_message,
            outcome.us_per_message,
            outcome.writes_per_message
        );
    }
}
