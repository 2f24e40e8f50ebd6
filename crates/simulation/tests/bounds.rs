//! No change may lose what the simulation has shown of `adaptive`, unseen.

use tinygram_simulation::{
    CONFIRMING_MODELS, CostsError, Grid, Judged, Machine, Model, Summary, TUNING_MODELS, judge,
    summary,
};

const SEED: u64 = 11;

/// 156 cells, short enough for a test.
fn small() -> Grid {
    Grid {
        messages: 1_000,
        ..Grid::small(SEED)
    }
}

fn judged(grid: &Grid, models: &[Model]) -> Vec<Judged> {
    let (cells, machine) = (grid.cells(), Machine::measured());
    models
        .iter()
        .flat_map(|model| cells.iter().map(|cell| judge(cell, &machine, model)))
        .collect()
}

fn of(strategy: &str, judged: &[Judged]) -> Summary {
    summary(judged)
        .into_iter()
        .find(|it| it.strategy == strategy)
        .expect("every strategy is summed up")
}

#[test]
fn adaptive_is_near_the_best_fixed_strategy_of_each_cell_on_every_host() {
    for (models, worst, mean, above_10_percent) in [
        (TUNING_MODELS, 1.35, 1.01, 15),
        (CONFIRMING_MODELS, 1.50, 1.015, 30),
    ] {
        let judged = judged(&small(), &models);
        let adaptive = of("adaptive", &judged);
        assert_eq!(adaptive.cells, 5 * 156);
        assert!(adaptive.worst <= worst, "{adaptive:?}");
        assert!(adaptive.mean <= mean, "{adaptive:?}");
        assert!(
            adaptive.above_10_percent <= above_10_percent,
            "{adaptive:?}"
        );
        // The bounds mean something: no fixed strategy keeps them.
        let tick = of("tick", &judged);
        assert!(tick.worst > 3.0 && tick.mean > 1.05, "{tick:?}");
    }
}

#[test]
fn adaptive_is_within_a_tenth_in_every_cell_with_costs_as_they_were_measured() {
    let adaptive = of("adaptive", &judged(&Grid::small(SEED), &TUNING_MODELS[..1]));
    assert!(adaptive.worst <= 1.10, "{adaptive:?}");
    assert!(adaptive.above_5_percent <= 3, "{adaptive:?}");
}

#[test]
fn the_same_cells_cost_the_same_each_time() {
    let grid = Grid {
        rates_per_s: vec![5e4],
        bursts: vec![1],
        ..small()
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
