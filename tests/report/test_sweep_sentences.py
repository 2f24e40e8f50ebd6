"""What the answer of a sweep says of curves that are known."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from tests.support.experiments import way

from tinygram_bench.model.sweep import Limit, Point, Sweep
from tinygram_bench.report.sweeps.sentences import sentences_on
from tinygram_bench.statistics.sweeps.curves import Curve, Swept

VALUES = (10_000.0, 20_000.0, 40_000.0, 80_000.0, 160_000.0)
ROUNDS = 7
SATURATING = (1.0, 1.8, 3.0, 3.2, 3.25)
COLLAPSING = (3.25, 3.2, 3.1, 2.0, 1.0)


def curve_of(
    strategy: str, values: Sequence[float], doubts: Sequence[str | None] = (), behind: int = 0
) -> Curve:
    """`behind`: at how many of the last points it fell behind."""
    case = way(f"loop/{strategy}")
    cases = tuple(replace(case, case_id=f"{strategy} {value}") for value in VALUES)
    is_behind = (False,) * (len(values) - behind) + (True,) * behind
    known = tuple((value,) * ROUNDS for value in values)
    return Curve(
        cases,
        known,
        is_behind,
        has_failed=(False,) * len(values),
        bounds_us=(None,) * len(values),
        doubts=tuple(doubts),
    )


def told(figure: str, *curves: Curve, limit: Limit | None = None) -> tuple[str, ...]:
    points = tuple(
        Point(value, tuple(curve.cases[at].case_id for curve in curves))
        for at, value in enumerate(VALUES)
    )
    sweep = Sweep("hold", VALUES[0], VALUES[-1], ROUNDS, limit, (points,))
    return sentences_on(Swept(sweep, figure, curves, ()))


def test_throughput_that_saturates_gains_less_and_falls_no_faster() -> None:
    (knees, _) = told("throughput_per_s", curve_of("cork", SATURATING))
    assert knees.startswith(
        "Throughput gains less from its knee on: loop/cork at 40 µs (20 µs–80 µs), "
    )


def test_curves_of_both_kinds_are_told_apart() -> None:
    (knees, _) = told(
        "throughput_per_s",
        curve_of("cork", SATURATING),
        curve_of("nagle", COLLAPSING),
        curve_of("more", (1.0,) * 5),
    )
    assert "Throughput falls faster from its knee on: loop/nagle at 40 µs" in knees
    assert "; gains less from its knee on: loop/cork at 40 µs" in knees
    assert "; no knee is shown for loop/more" in knees


def test_a_latency_that_stops_falling_is_no_latency_that_rises() -> None:
    (knees, _) = told("latency_p50_us", curve_of("cork", [1 / each for each in SATURATING]))
    assert knees.startswith("Median latency falls less from its knee on: loop/cork at 40 µs")


def test_a_limit_in_slices_is_said_to_be_one_with_rests() -> None:
    limit = Limit("latency_p99_us", 1_000.0)
    curve = curve_of("cork", (10.0,) * 5)
    in_slices = tuple(
        replace(case, parameters=replace(case.parameters, slice_ns=20_000_000))
        for case in curve.cases
    )
    sliced = replace(curve, cases=in_slices)
    (_, _, rested) = told("latency_p99_us", sliced, limit=limit)
    assert rested.startswith("Each way rested while others had their turns")
    assert len(told("latency_p99_us", sliced)) == len(told("latency_p99_us", curve)) == 2


def test_what_falls_behind_is_not_said_to_keep_to_the_limit() -> None:
    limit = Limit("latency_p99_us", 1_000.0)
    (kept, _) = told(
        "latency_p99_us",
        curve_of("cork", (10.0,) * 5, behind=2),
        curve_of("more", (10.0,) * 5, behind=5),
        limit=limit,
    )
    assert (
        "loop/cork keeps to it up to 40 µs (40 µs–80 µs); loop/more is never seen to keep to it"
        in kept
    )
    assert kept.endswith(
        "and is shown not to at 10 µs, each point's interval at 98.4% confidence from 7 rounds."
    )


def test_where_no_way_keeps_to_the_limit_that_is_said_once() -> None:
    limit = Limit("latency_p99_us", 1.0)
    curves = (curve_of("cork", (0.5, 5.0, 5.0, 5.0, 5.0)), curve_of("more", (5.0,) * 5))
    (kept, _) = told("latency_p99_us", *curves, curve_of("nagle", (5.0,) * 5), limit=limit)
    assert "none of" not in kept
    (missed, _) = told("latency_p99_us", *curves[1:], curve_of("nagle", (5.0,) * 5), limit=limit)
    assert missed.startswith(
        "With p99 latency below 1 µs: none of the 2 ways is seen to keep to it at any hold; "
        "shown not to keep to it are loop/more at 10 µs; loop/nagle at 10 µs, each point's "
    )


def test_one_doubt_of_several_is_an_example() -> None:
    alike = ("the link was late", None, "the link was late", None, None)
    other = (*alike[:4], "two modes")
    assert told("latency_p50_us", curve_of("cork", (10.0,) * 5, alike))[-1] == (
        "In doubt are 2 of these 5 figures: the link was late."
    )
    assert told("latency_p50_us", curve_of("cork", (10.0,) * 5, other))[-1] == (
        "In doubt are 3 of these 5 figures: for example, the link was late."
    )
