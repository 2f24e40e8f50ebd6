//! Bounds on `adaptive` in the simulation, so that no change makes it worse without being noticed.

use std::thread;
use tinygram_simulation::{
    CostsError, Grid, Judged, Link, Machine, Model, Summary, TUNING_MODELS, judge, summary,
};

const SEED: u64 = 11;

/// In no cell does `adaptive` that holds for 300 µs at most cost more than this many times as much as
/// `competitive` with the price of a write (decision 0038).
const FACTOR: f64 = 1.25;

/// Every cell on every host, a thread for each host.
fn judged(grid: &Grid, models: &[Model]) -> Vec<Judged> {
    let (cells, machine) = (grid.cells(), Machine::measured());
    let on_host = |model: &Model| -> Vec<Judged> {
        cells
            .iter()
            .map(|cell| judge(cell, &machine, model))
            .collect()
    };
    thread::scope(|scope| {
        let threads: Vec<_> = models
            .iter()
            .map(|model| scope.spawn(|| on_host(model)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("it only computes"))
            .collect()
    })
}

fn of(strategy: &str, judged: &[Judged]) -> Summary {
    summary(judged)
        .into_iter()
        .find(|it| it.strategy == strategy)
        .expect("every strategy is summed up")
}

/// The greatest factor by which `adaptive` within 300 µs costs more than `competitive`.
fn beside_competitive(judged: &[Judged]) -> f64 {
    let factors = judged.iter().map(|it| it.beside_competitive);
    factors.fold(0.0, f64::max)
}

#[test]
fn adaptive_is_near_the_best_fixed_strategy_of_each_cell_on_every_host() {
    let mut judged = judged(&Grid::small(SEED), &TUNING_MODELS);
    let adaptive = of("adaptive", &judged);
    assert_eq!(adaptive.cells, TUNING_MODELS.len() * 156);
    assert!(adaptive.worst <= 1.20, "{adaptive:?}");
    assert!(adaptive.mean <= 1.01, "{adaptive:?}");
    assert!(adaptive.above_10_percent <= 10, "{adaptive:?}");
    let beside = beside_competitive(&judged);
    assert!((1.05..=FACTOR).contains(&beside), "{beside}");
    // With costs as they were measured.
    let tick = of("tick", &judged);
    judged.retain(|it| it.model == TUNING_MODELS[0].name);
    let measured = of("adaptive", &judged);
    assert!(measured.worst <= 1.10, "{measured:?}");
    assert!(measured.above_5_percent <= 8, "{measured:?}");
    // The bounds mean something: no fixed strategy keeps them.
    assert!(tick.worst > 3.0 && tick.mean > 1.05, "{tick:?}");
}

#[test]
fn adaptive_of_threads_is_near_the_best_fixed_strategy_of_each_cell_on_every_host() {
    let judged = judged(&Grid::threads(SEED), &TUNING_MODELS);
    let beside = beside_competitive(&judged);
    assert!((1.05..=FACTOR).contains(&beside), "{beside}");
    let (flat_out, paced): (Vec<_>, Vec<_>) = judged
        .into_iter()
        .partition(|it| it.cell.contains("flat out"));
    let hosts = TUNING_MODELS.len();
    assert_eq!((paced.len(), flat_out.len()), (hosts * 96, hosts * 8));
    let adaptive = of("adaptive", &paced);
    assert!(adaptive.worst <= 1.30, "{adaptive:?}");
    assert!(adaptive.mean <= 1.02, "{adaptive:?}");
    assert!(adaptive.above_10_percent <= 24, "{adaptive:?}");
    let adaptive = of("adaptive", &flat_out);
    assert!(adaptive.worst <= 1.04, "{adaptive:?}");
    // The bounds mean something: no fixed strategy keeps them.
    let combine = of("combine", &paced);
    assert!(combine.worst > 1.40 && combine.mean > 1.03, "{combine:?}");
}

#[test]
fn adaptive_of_programs_that_compute_before_each_message_holds_within_its_bound() {
    let judged = judged(&Grid::slow_programs(SEED), &TUNING_MODELS[..1]);
    let adaptive = of("adaptive", &judged);
    assert!(adaptive.worst <= 1.85, "{adaptive:?}");
    assert!(adaptive.mean <= 1.10, "{adaptive:?}");
    // The bounds mean something: a fixed hold does not keep them.
    let held = of("coalesce:100us", &judged);
    assert!(held.worst > 2.0 && held.mean > 1.10, "{held:?}");
}

#[test]
fn adaptive_over_a_link_costs_what_the_best_fixed_strategy_does() {
    let over_links = Grid {
        links: vec![Link::of_rtt_ms(1)],
        ..Grid::small(SEED)
    };
    let mut judged = judged(&over_links, &TUNING_MODELS[..1]);
    judged.retain(|it| !it.is_by_time);
    let adaptive = of("adaptive", &judged);
    assert!(adaptive.cells > 100, "{adaptive:?}");
    assert!(adaptive.worst <= 1.05, "{adaptive:?}");
}

#[test]
fn a_receiver_that_delays_its_acknowledgements_makes_nagle_wait_and_nobody_else() {
    let judged_over = |delays_acks| {
        let link = Link {
            delays_acks,
            ..Link::of_rtt_ms(1)
        };
        let grid = Grid {
            links: vec![link],
            rates_per_s: vec![100.0],
            ..Grid::small(SEED)
        };
        let mut all = judged(&grid, &TUNING_MODELS[..1]);
        all.retain(|it| !it.is_by_time);
        all
    };
    let (at_once, delayed) = (judged_over(false), judged_over(true));
    assert_eq!(at_once.len(), delayed.len());
    let mut waited = 0;
    for (one, other) in at_once.iter().zip(&delayed) {
        for ((strategy, _, before), (.., after)) in one.ratios.iter().zip(&other.ratios) {
            if *strategy == "nagle" {
                // 40 ms, for each message that finds another one unacknowledged.
                waited += usize::from(after.p99_us > before.p99_us + 30_000.0);
            } else {
                assert_eq!(before, after, "{strategy} in {}", other.cell);
            }
        }
    }
    assert!(2 * waited > delayed.len(), "{waited} of {}", delayed.len());
}

#[test]
fn the_same_cells_cost_the_same_each_time() {
    let grid = Grid {
        rates_per_s: vec![5e4],
        bursts: vec![1],
        ..Grid::small(SEED)
    };
    let (one, other) = (
        judged(&grid, &TUNING_MODELS[..1]),
        judged(&grid, &TUNING_MODELS[..1]),
    );
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(one.ratios, other.ratios);
    }
}

#[test]
fn a_file_of_costs_that_is_none_is_refused_by_what_is_wrong_with_it() {
    let missing = CostsError::Missing("receive_ns".into());
    assert_eq!(Machine::parse("# nothing\n").unwrap_err(), missing);
    for line in [
        "write_ns 5",
        "write_ns",
        "write_ns 5 4 x",
        "write_ns 5 4 6 7",
    ] {
        let wrong = CostsError::Line(1, line.into());
        assert_eq!(Machine::parse(line).unwrap_err(), wrong);
    }
}
