"""Knees, crossovers and limits: found where they are, with an interval, and nowhere else."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace
from tests.support.experiments import way

from tinygram_bench.model.sweep import Limit
from tinygram_bench.statistics.one_way import Unknown
from tinygram_bench.statistics.sweeps.crossovers import crossings_of
from tinygram_bench.statistics.sweeps.curves import Curve
from tinygram_bench.statistics.sweeps.knees import knee_of
from tinygram_bench.statistics.sweeps.limits import Met, met_at, met_of

VALUES = (1_000.0, 4_730.0, 22_400.0, 30_000.0, 40_000.0, 50_000.0, 106_000.0, 500_000.0)
LIMIT = Limit("latency_p99_us", 1_000.0)


def rounds(
    curve: Callable[[float], float], noise: float = 0.0, seed: int = 1, count: int = 7
) -> list[list[float]]:
    random_ = random.Random(seed)
    return [
        [curve(value) * random_.lognormvariate(0, noise) for _ in range(count)] for value in VALUES
    ]


def hockey_stick(rate: float) -> float:
    return 20.0 * max(1.0, rate / 38_000) ** 3


def curve_of(
    values: Sequence[Sequence[float]], failed: Sequence[int] = (), behind: Sequence[int] = ()
) -> Curve:
    case = way("loop/nodelay", 1_000)
    return Curve(
        cases=(case,) * len(values),
        rounds=tuple(map(tuple, values)),
        is_behind=tuple(at in behind for at in range(len(values))),
        has_failed=tuple(at in failed for at in range(len(values))),
        bounds_us=(None,) * len(values),
    )


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
def test_a_knee_is_found_between_its_neighbours(noise: float, seed: int) -> None:
    knee = knee_of(VALUES, rounds(hockey_stick, noise, seed))
    assert knee is not None
    assert knee.at.low <= 38_000 <= knee.at.high
    assert (knee.at.low, knee.at.high) >= (22_400, 50_000)
    assert not knee.is_flattening


def test_a_jump_has_its_knee_at_the_last_low_point() -> None:
    knee = knee_of(VALUES, rounds(lambda rate: 20.0 if rate < 45_000 else 50_000.0))
    assert knee is not None
    assert knee.at.median == 40_000


def test_throughput_has_its_knee_where_it_begins_to_fall() -> None:
    found = rounds(lambda size: 1e6 / hockey_stick(size))
    knee = knee_of(VALUES, found, is_higher_better=True)
    assert knee is not None
    assert knee.at.median in (30_000, 40_000)
    assert not knee.is_flattening
    assert knee_of(VALUES, found) is None


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("is_higher_better", [True, False])
def test_a_curve_that_saturates_flattens_at_its_knee(is_higher_better: bool, seed: int) -> None:
    power = 1 if is_higher_better else -1
    found = rounds(lambda hold: min(hold, 38_000) ** power, 0.02, seed)
    knee = knee_of(VALUES, found, is_higher_better=is_higher_better)
    assert knee is not None
    assert knee.at.low <= 38_000 <= knee.at.high
    assert knee.is_flattening


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("noise", [0.02, 0.3])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_a_straight_line_has_no_knee(noise: float, seed: int, power: float) -> None:
    assert knee_of(VALUES, rounds(lambda rate: 20 * rate**power, noise, seed)) is None


def test_few_rounds_or_points_show_no_knee() -> None:
    assert knee_of(VALUES, rounds(hockey_stick, count=5)) is None
    assert knee_of(VALUES[4:], rounds(hockey_stick)[4:]) is None
    unknown = [[] if at % 2 else each for at, each in enumerate(rounds(hockey_stick))]
    assert knee_of(VALUES, unknown) is None


def test_rounds_cross_where_their_straight_lines_do() -> None:
    (crossing,) = crossings_of((100.0, 10_000.0), ([2.0], [0.5]))
    assert crossing == pytest.approx(1_000)
    # The clocks of two hosts may not tell a time from nothing.
    (crossing,) = crossings_of((100.0, 10_000.0), ([0.0], [2.0]))
    assert 9_000 < crossing < 10_000
    (crossing,) = crossings_of((100.0, 500.0, 10_000.0), ([0.5], [], [2.0]))
    assert crossing == pytest.approx(1_000)


def test_rounds_without_a_crossing_have_the_end_that_is_nearer() -> None:
    found = crossings_of((100.0, 10_000.0), ([2.0, 0.9, 2.0], [0.5, 0.5, 1.1]))
    assert found == pytest.approx((1_000, 100, 10_000))


def test_points_that_show_nothing_take_part_in_a_crossing() -> None:
    (crossing,) = crossings_of((100.0, 1_000.0, 10_000.0), ([2.0], [1.0], [0.5]))
    assert crossing == pytest.approx(1_000)


def test_a_limit_holds_up_to_a_point_and_fails_at_the_next() -> None:
    curve = curve_of(rounds(lambda rate: 10.0 if rate <= 30_000 else 5_000.0))
    assert met_of(VALUES, curve, LIMIT) == Met("met up to", 30_000, 30_000, 40_000)


def test_where_rounds_differ_the_interval_is_wider() -> None:
    values = rounds(lambda rate: 10.0 if rate <= 40_000 else 5_000.0)
    values[3][0] = values[5][0] = 2_000.0  # One round in seven is above, or below, what others are.
    values[5][0] = 500.0
    met = met_of(VALUES, curve_of(values), LIMIT)
    assert met == Met("met up to", 40_000, 22_400, 106_000)


def test_a_limit_that_is_not_reached_or_never_met_is_said_so() -> None:
    low, high = curve_of(rounds(lambda _: 10.0)), curve_of(rounds(lambda _: 5_000.0))
    assert met_of(VALUES, low, LIMIT) == Met("met everywhere", VALUES[-1], VALUES[-1])
    assert met_of(VALUES, high, LIMIT) == Met("never met", high=VALUES[0])


def test_a_way_that_falls_behind_does_not_hold_whatever_its_latency_is() -> None:
    low = rounds(lambda _: 10.0)
    assert met_of(VALUES, curve_of(low, behind=[3, 4]), LIMIT) == Met(
        "met up to", VALUES[2], VALUES[2], VALUES[3]
    )
    assert met_of(VALUES, curve_of(low, behind=range(8)), LIMIT) == Met("never met", high=VALUES[0])
    assert met_at(curve_of(low, behind=[7]), LIMIT) == (1,) * 7 + (-1,)


def test_a_figure_in_doubt_shows_nothing_of_a_limit() -> None:
    in_doubt = replace(
        curve_of(rounds(lambda rate: 10.0 if rate <= 30_000 else 5_000.0)),
        doubts=("the host stopped",) * 8,
    )
    assert met_at(in_doubt, LIMIT) == (0,) * 8
    assert met_of(VALUES, in_doubt, LIMIT) == Met("met up to", 30_000)
    never = replace(curve_of(rounds(lambda _: 5_000.0)), doubts=("the host stopped",) * 8)
    assert met_of(VALUES, never, LIMIT) == Met("never met")


def test_a_figure_that_may_not_be_shown_says_nothing_of_a_limit() -> None:
    unknown = Unknown("the clocks may be wrong", None)
    curve = curve_of(rounds(lambda rate: 10.0 if rate <= 30_000 else 5_000.0))
    low = replace(curve, unknown=(unknown, *[None] * 7))
    assert met_at(low, LIMIT) == (0, 1, 1, 1, -1, -1, -1, -1)
    assert met_of(VALUES, low, LIMIT) == Met("met up to", 30_000, None, 40_000)
    high = replace(curve, unknown=(*[None] * 3, *[unknown] * 5))
    assert met_of(VALUES, high, LIMIT) == Met("met up to", VALUES[2], VALUES[2])
    everywhere = replace(curve, unknown=(unknown,) * 8)
    assert met_at(everywhere, LIMIT) == (0,) * 8
    assert met_of(VALUES, everywhere, LIMIT) == Met("not timed")
    # That a way falls behind needs no clock of another host.
    behind = replace(everywhere, is_behind=(False,) * 7 + (True,))
    assert met_of(VALUES, behind, LIMIT) == Met("never met", high=VALUES[7])


def test_a_later_point_below_the_limit_does_not_count() -> None:
    curve = curve_of(rounds(lambda rate: 5_000.0 if rate == 22_400 else 10.0))
    met = met_of(VALUES, curve, LIMIT)
    assert (met.up_to, met.high) == (4_730, 22_400)


def test_a_way_that_fails_does_not_hold_and_one_with_few_messages_is_not_known() -> None:
    values: list[list[float]] = [[10.0] * 7] * 3 + [[]] * 5
    assert met_of(VALUES, curve_of(values, failed=[3]), LIMIT).high == VALUES[3]
    assert met_of(VALUES, curve_of(values), LIMIT) == Met("met up to", VALUES[2], VALUES[2])
    assert met_of(VALUES, curve_of([[]] * 8), LIMIT) == Met("not known")
