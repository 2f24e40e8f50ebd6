"""What counts decide: CPU time, holds and writes, where the clock of delays cannot say."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from claim.grid import OURS, Cell
from claim.judging.compare import LOOKS
from claim.judging.counts import MOST_BUSY, MOST_UNLIKE, predicted
from claim.judging.judge import Verdict, count_cells, verdicts_of
from claim.judging.samples import Samples
from claim.runs import Measured
from hypothesis import given
from hypothesis import strategies as st
from tests.claim.worlds import CYCLES, EQUAL, FLAT_OUT, LOOP, changed, even_noise, late, runs_of

from tinygram_bench.model.result import Figure

NOISY = even_noise(0.4)
THREADS = Cell("threads", 10_000.0, "poisson", 1, 100)
WRITE_NS = 10_000
RIVAL_CPU_NS = 20_000.0


def counted(
    runs: list[Measured],
    *,
    cpu_ns: float = RIVAL_CPU_NS,
    writes: int = 1_000,
    hold_ns: float = 0.0,
    rivals_hold_ns: float = 0.0,
) -> list[Measured]:
    """The same runs with other counts: each rival uses RIVAL_CPU_NS a message and makes 1,000
    writes of 1,000 messages, ours as given; all batches are held, or none is.
    """

    def told(run: Measured) -> Measured:
        if "cpu" not in run.costs:
            return run
        is_ours = run.run.strategy == OURS
        made = writes if is_ours else 1_000
        held_ns = hold_ns if is_ours else rivals_hold_ns
        return changed(
            run,
            costs={**run.costs, "cpu": (cpu_ns if is_ours else RIVAL_CPU_NS,) * CYCLES},
            writes=made,
            write_cpu_ns=made * WRITE_NS,
            holds=made if held_ns else 0,
            hold_mean_ns=held_ns or None,
        )

    return [told(run) for run in runs]


def noisy(cell: Cell = LOOP, rounds: int = LOOKS[0], spread: float = 0.4) -> list[Measured]:
    """Rounds of which the clock of delays says nothing, but that `nagle` is dear."""
    costs = {**dict.fromkeys(cell.strategies, 100_000.0), "nagle": 900_000.0}
    return runs_of([cell], costs, noise=even_noise(spread), rounds=rounds)


def deciding(runs: Sequence[Measured], cell: Cell = LOOP) -> Verdict:
    found = verdicts_of([cell], Samples.of(runs))
    (verdict,) = (each for each in found if each.is_deciding)
    return verdict


def ratio(runs: Sequence[Measured], cell: Cell = LOOP) -> Figure:
    found = predicted(Samples.of(runs), 0, cell, OURS, "nodelay")
    assert found is not None
    return found


@pytest.mark.parametrize("cell", [LOOP, THREADS], ids=["loop", "threads"])
def test_where_the_clock_cannot_say_the_same_counts_hold(cell: Cell) -> None:
    by_clock = deciding(noisy(cell), cell)
    assert (by_clock.outcome, by_clock.is_by_counts) == ("undecided", False)
    verdict = deciding(counted(noisy(cell)), cell)
    assert (verdict.outcome, verdict.by_clock, verdict.is_by_counts) == ("held", "undecided", True)
    assert verdict.ratio == by_clock.ratio
    count = count_cells([cell], [verdict])
    assert (count.held, count.held_by_counts, count.undecided) == (1, 1, 0)
    assert not verdict.may_be_decided


def test_what_costs_less_is_held_by_whatever_amount() -> None:
    runs = counted(noisy(), cpu_ns=14_000.0, hold_ns=10_000.0, rivals_hold_ns=14_000.0)
    assert deciding(runs).outcome == "held"
    assert ratio(runs).high < 0.95


@pytest.mark.parametrize(("cpu_ns", "hold_ns"), [(RIVAL_CPU_NS, 60_000.0), (32_000.0, 0.0)])
def test_what_costs_more_is_lost_as_honestly(cpu_ns: float, hold_ns: float) -> None:
    verdict = deciding(counted(noisy(), cpu_ns=cpu_ns, hold_ns=hold_ns))
    assert (verdict.outcome, verdict.by_clock, verdict.is_by_counts) == ("lost", "undecided", True)
    assert verdict.is_large
    count = count_cells([LOOP], [verdict])
    assert (count.lost, count.lost_by_counts) == (1, 1)


def test_what_may_be_within_the_margin_or_beyond_is_undecided() -> None:
    assert deciding(counted(noisy(), cpu_ns=24_500.0)).outcome == "undecided"
    assert deciding(counted(noisy(), writes=1_240)).outcome == "undecided"


def test_flat_out_counts_say_nothing() -> None:
    runs = counted(noisy(FLAT_OUT))
    assert predicted(Samples.of(runs), 0, FLAT_OUT, OURS, "nodelay") is None
    assert deciding(runs, FLAT_OUT).outcome == "undecided"


def test_what_the_clock_decides_is_decided() -> None:
    lost = counted(runs_of([LOOP], {**EQUAL, OURS: 150_000.0}))
    assert (deciding(lost).outcome, deciding(lost).is_by_counts) == ("lost", False)
    held = counted(runs_of([LOOP]), hold_ns=60_000.0)
    assert (deciding(held).outcome, deciding(held).is_by_counts) == ("held", False)


def test_counts_that_the_clock_contradicts_decide_nothing() -> None:
    runs = counted(runs_of([LOOP], {**EQUAL, OURS: 104_900.0}, noise=even_noise(0.01)))
    verdict = deciding(runs)
    assert verdict.ratio.low > 1
    assert (verdict.by_counts, verdict.outcome) == ("undecided", "undecided")


@pytest.mark.parametrize(
    ("cpu_ns", "hold_ns", "rivals_hold_ns"),
    [(5_000.0, 0.0, 60_000.0), (RIVAL_CPU_NS, 90_000.0, 0.0)],
)
def test_a_prediction_that_the_clock_excludes_decides_nothing(
    cpu_ns: float, hold_ns: float, rivals_hold_ns: float
) -> None:
    """By the clock an interval around 1; predicted far below, or far above."""
    runs = noisy(spread=0.15)
    verdict = deciding(counted(runs, cpu_ns=cpu_ns, hold_ns=hold_ns, rivals_hold_ns=rivals_hold_ns))
    assert verdict.ratio.low <= 1 <= verdict.ratio.high
    assert (verdict.by_clock, verdict.by_counts) == ("undecided", "undecided")


def test_nothing_is_lost_to_what_the_kernel_holds() -> None:
    costs = {**EQUAL, "nagle": 60_000.0, OURS: 61_000.0}
    runs = counted(runs_of([LOOP], costs, noise=NOISY), hold_ns=60_000.0)
    verdict = deciding(runs)
    assert verdict.rival == "nagle"
    assert verdict.outcome == "undecided"


def test_ours_that_cannot_keep_up_is_not_held_by_counts() -> None:
    assert not deciding(late(counted(noisy()), OURS)).is_by_counts


def test_rounds_up_to_the_first_look_are_needed() -> None:
    assert deciding(counted(noisy(rounds=LOOKS[0] - 1))).outcome == "undecided"


def test_a_sender_that_is_hardly_idle_queues_and_nothing_is_predicted() -> None:
    busy = counted(noisy(), cpu_ns=1.1 * MOST_BUSY / 10_000 * 1e9)
    assert predicted(Samples.of(busy), 0, LOOP, OURS, "nodelay") is None
    on_off = Cell("loop", 10_000.0, "onoff", 1, 100)
    runs = counted(noisy(on_off))
    assert predicted(Samples.of(runs), 0, on_off, OURS, "nodelay") is None


def test_without_counts_nothing_is_known() -> None:
    assert predicted(Samples.of(noisy()), 0, LOOP, OURS, "nodelay") is None


cpus = st.floats(5_000.0, 60_000.0)
holds = st.floats(0.0, 100_000.0)
writes = st.integers(100, 2_000)


@given(cpu=cpus, hold=holds, rivals=holds, made=writes)
def test_what_the_difference_is_made_of_lies_between_the_bounds(
    cpu: float, hold: float, rivals: float, made: int
) -> None:
    """Messages that wait for half as long as the first ones of their batches, or as long."""
    runs = counted(
        runs_of([LOOP], noise=even_noise(0.0)),
        cpu_ns=cpu,
        hold_ns=hold,
        rivals_hold_ns=rivals,
        writes=made,
    )
    cost_ns = Samples.of(runs).cost_ns(0, "nodelay", "sum")
    assert cost_ns is not None
    found = ratio(runs)
    is_alike = MOST_UNLIKE * made >= 1_000 and made <= MOST_UNLIKE * 1_000
    shares = [(1.0, 1.0), (0.5, 0.5), *([] if is_alike else [(1.0, 0.5), (0.5, 1.0)])]
    for ours, theirs in shares:
        # What is held of 1,000 messages in more writes than that is one of each.
        more_ns = cpu - RIVAL_CPU_NS + ours * hold - theirs * rivals
        expected = max(0.01, 1 + more_ns / cost_ns)
        assert found.low <= expected * (1 + 1e-9)
        assert expected <= found.high * (1 + 1e-9)


@given(cpu=cpus, hold=holds, more=st.floats(0.0, 50_000.0))
def test_more_of_anything_never_costs_less(cpu: float, hold: float, more: float) -> None:
    runs = runs_of([LOOP], noise=even_noise(0.0))
    least = ratio(counted(runs, cpu_ns=cpu, hold_ns=hold))
    held_longer = ratio(counted(runs, cpu_ns=cpu, hold_ns=hold + more))
    more_writes = ratio(counted(runs, cpu_ns=cpu, hold_ns=hold, writes=1_200))
    for other in (held_longer, more_writes):
        assert (least.low, least.high) <= (other.low + 1e-9, other.high + 1e-9)
    if cpu + more < 60_000:
        busier = ratio(counted(runs, cpu_ns=cpu + more, hold_ns=hold))
        assert (least.low, least.high) <= (busier.low + 1e-9, busier.high + 1e-9)
