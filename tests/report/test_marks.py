"""Marks and holds: what the tables show beside the figures themselves."""

from __future__ import annotations

import msgspec
from tests.support.experiments import (
    flat_out_in_slices,
    flat_out_run,
    histogram,
    paced_run,
    plan_of,
    result_of,
    way,
)
from tests.support.printed_report import printed, row

WOBBLE = (1.0, 1.01, 0.99, 1.02, 0.98, 1.015, 0.985)


def paced_row(text: str, label: str) -> list[str]:
    title = next(line for line in text.splitlines() if line.startswith("Latency from"))
    return row(text, label, title).split()


def test_paced_figures_are_marked_against_loop_nodelay() -> None:
    cases = [way(text, 1_000) for text in ("loop/nodelay", "loop/a", "loop/b")]
    latencies = {"loop/nodelay": (1.0,) * 7, "loop/a": WOBBLE, "loop/b": (1.5,) * 7}
    runs = [
        paced_run(case, number, 40 * latencies[case.case_id.split()[0]][number])
        for case in cases
        for number in range(7)
    ]
    text = printed(result_of(plan_of(cases, runs), runs))
    assert paced_row(text, "loop/nodelay")[3:5] == ["40.0", "40-41"]
    # With 200 samples a round, the p99 is that of all rounds together.
    assert paced_row(text, "loop/a")[3:7] == ["40.0=", "39-41", "40.8=", "39-41"]
    assert paced_row(text, "loop/b")[3:7] == ["60.0", "60-61", "60.0", "60-61"]
    assert "=  no difference from loop/nodelay shown" in text
    few = printed(result_of(plan_of(cases, runs), runs[:5] + runs[7:12] + runs[14:19]))
    assert paced_row(few, "loop/b")[3] == "60.0?"
    assert "?  cannot say: 5 rounds have both, and 6 are needed" in few


def test_without_loop_nodelay_the_mark_is_against_nodelay_of_the_runtime() -> None:
    cases = [way(text, 1_000) for text in ("asyncio/nodelay", "asyncio/a", "threads/a")]
    runs = [paced_run(case, number, 40) for case in cases for number in range(7)]
    text = printed(result_of(plan_of(cases, runs), runs))
    assert paced_row(text, "asyncio/a")[3] == "40.0="
    assert paced_row(text, "threads/a")[3] == "40.0"
    assert "=  no difference from nodelay of its runtime shown" in text


def test_a_ratio_of_two_modes_is_marked_where_both_are_on_one_side() -> None:
    ways = {"loop/nodelay": [1.0] * 6, "loop/a": [7.7, 11.4] * 3, "loop/b": [0.8, 1.9] * 3}
    text = printed(result_of(*flat_out_in_slices(ways)))
    assert "9.55~" in row(text, "loop/a").split()
    assert "1.35?" in row(text, "loop/b").split()
    told = " ".join(text.split())
    assert (
        "~ the direction is shown, and no size of the difference: two modes in loop/a / "
        "loop/nodelay: near 7.7 in 3 rounds, near 11.4 in 3 rounds"
    ) in told
    assert "? cannot say: two modes in loop/b / loop/nodelay: near 0.8 in 3 rounds" in told


def test_holds_are_shown_where_something_is_held() -> None:
    held = {"hold_ns": histogram([44_000] * 1_000)}
    for rate_per_s in (None, 1_000):
        cases = [way("loop/nodelay", rate_per_s), way("loop/coalesce:10us", rate_per_s)]
        runs = []
        for case in cases:
            for number in range(7):
                run = (flat_out_run if rate_per_s is None else paced_run)(case, number, 40)
                is_held = case.strategy != "nodelay"
                histograms = {**run.histograms, **held} if is_held else run.histograms
                runs.append(msgspec.structs.replace(run, histograms=histograms))
        text = printed(result_of(plan_of(cases, runs), runs))
        table = "Throughput" if rate_per_s is None else "Latency from"
        title = next(line for line in text.splitlines() if line.startswith(table))
        assert row(text, "loop/coalesce:10us", title).split().count("44.0") == 2
        assert "- loop/coalesce:10us: holds 44 us where 10 us were asked for" in text
        alone = printed(result_of(plan_of(cases[:1], runs), runs[:7]))
        assert "hold " in text
        assert "hold " not in alone


def test_without_the_base_there_is_no_column_of_ratios() -> None:
    """An empty column would name a way that was not measured."""
    runs = [flat_out_run(way("asyncio/cork"), number, 1e5) for number in range(7)]
    text = printed(result_of(plan_of([way("asyncio/cork")], runs), runs))
    assert "nodelay" not in text
