"""What is said of other programs: close, or apart and why; and who did not run."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from tests.support.experiments import flat_out, result_of
from tests.support.printed_report import printed

from tinygram_bench.model.cross_check import AbsentPeer, CrossCheck, Peer, PeerRun
from tinygram_bench.model.result import Result
from tinygram_bench.statistics.verdicts.agreements import agreements_of

OURS = "native/nodelay"
MESSAGES = 1_000


def peer(case_id: str) -> Peer:
    return Peer(
        peer_id="sockperf/nodelay",
        program="sockperf",
        version="sockperf, version 3.7",
        case_id=case_id,
        figure="throughput_per_s",
        command=("sockperf", "throughput"),
        batching="one write for a message",
        meaning="messages sent",
        differences=("it has a header",),
    )


def peer_run(number: int, value: float | None, segments: int | None = 1_100) -> PeerRun:
    counters = {"messages": MESSAGES, "kernel_OutSegs": segments}
    failure = "it broke." if value is None else None
    return PeerRun("sockperf/nodelay", number, value, counters, failure)


def result(ours: Sequence[float], runs: Sequence[PeerRun]) -> Result:
    plan, own_runs = flat_out({OURS: ours})
    absent = (AbsentPeer("qperf", "is not installed: apt-get install qperf"),)
    found = CrossCheck((peer(plan.cases[0].case_id),), tuple(runs), absent)
    return msgspec.structs.replace(result_of(plan, own_runs), cross_check=found)


def said(result: Result) -> str:
    (line,) = (line for line in printed(result).splitlines() if line.startswith("- sockperf"))
    return line


def test_what_is_close_is_said_to_be() -> None:
    runs = [peer_run(number, 95e3) for number in range(7)]
    line = said(result([100e3] * 7, runs))
    assert line == (
        "- sockperf/nodelay: its messages/s is 0.950 x ours (0.950-0.950), at 98.4% confidence "
        "from 7 rounds: within 10%."
    )


def test_what_is_apart_is_explained() -> None:
    runs = [peer_run(number, 50e3) for number in range(7)]
    line = said(result([100e3] * 7, runs))
    assert "more than 10% apart. What differs: its writes: one write for a message; " in line
    assert line.endswith("its figure: messages sent; it has a header.")


@pytest.mark.parametrize(
    ("theirs", "is_close"),
    [
        ((0.91, 1.09, 1, 1, 1, 1), True),
        ((0.91, 1.11, 1, 1, 1, 1), None),
        ((0.85, 0.95, 0.85, 0.85, 0.85, 0.85), None),
        ((0.85, 0.89, 0.85, 0.85, 0.85, 0.85), False),
        ((1.2, 1.11, 1.2, 1.2, 1.2, 1.2), False),
        ((1, 1, 1, 1, 1), None),
    ],
)
def test_the_interval_says_whether_it_is_close_or_that_it_cannot_be_said(
    theirs: tuple[float, ...], is_close: bool | None
) -> None:
    runs = [peer_run(number, 1e5 * value) for number, value in enumerate(theirs)]
    shown = result([1e5] * len(theirs), runs)
    (agreement,) = agreements_of(shown)
    assert agreement.is_close is is_close
    assert ("cannot be said" in said(shown)) == (is_close is None)


def test_ratios_are_formed_round_by_round_where_both_have_a_figure() -> None:
    runs = [peer_run(0, 100e3), peer_run(1, None), peer_run(2, 250e3)]
    shown = result([100e3, 200e3, 250e3], runs)
    (agreement,) = agreements_of(shown)
    assert agreement.ratio is not None
    assert agreement.ratio.median == pytest.approx(1)
    assert agreement.paired_rounds == 2
    assert agreement.is_close is None
    assert not agreement.has_enough_rounds
    line = said(shown)
    assert "in 2 rounds, which are too few to be sure: whether it is within 10% cannot" in line
    assert line.endswith("It failed in 1 of 3 rounds: it broke.")


def test_a_peer_without_a_figure_says_why() -> None:
    line = said(result([100e3], [peer_run(0, None)]))
    assert line == (
        "- sockperf/nodelay has no figure beside ours. It failed in 1 of 1 rounds: it broke."
    )


def test_segments_are_counted_for_each_message_where_the_kernel_tells_them() -> None:
    (agreement,) = agreements_of(result([100e3], [peer_run(0, 1.0), peer_run(1, 1.0, None)]))
    assert (agreement.segments, agreement.our_segments) == (1.1, None)


def test_who_did_not_run_is_named_and_the_answer_comes_first() -> None:
    text = printed(result([100e3], [peer_run(0, 100e3)]))
    assert "- qperf is not installed: apt-get install qperf." in text
    assert text.index("The answer") < text.index("Cross-check: ")
    assert "Only limits were measured" in text


def test_without_a_cross_check_nothing_is_said_of_it() -> None:
    plan, runs = flat_out({OURS: [100e3]})
    assert "Cross-check" not in printed(result_of(plan, runs))
    assert agreements_of(result_of(plan, runs)) == ()


def test_a_result_with_it_is_json_and_comes_back() -> None:
    whole = result([100e3], [peer_run(0, 100e3)])
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Result) == whole
