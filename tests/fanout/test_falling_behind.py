"""A publisher falls behind where its last messages come later than two publications take."""

from __future__ import annotations

import pytest

from tinygram_bench import _native
from tinygram_bench._native import Histogram
from tinygram_bench.model.parameters import FanoutParameters
from tinygram_bench.model.result import Case, MessageBytes
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.statistics.recurring import FELL_BEHIND
from tinygram_bench.workloads.fanout.order import Heard, Pace, PublisherOrder, Report
from tinygram_bench.workloads.fanout.outcome import Found, assembled

MS = 1_000_000
SUBSCRIBERS, PUBLICATIONS, BYTES = 5_000, 20, 100
PERIOD_NS, DURATION_NS = 50 * MS, 1_000 * MS
PASS_NS = 40 * MS
SLICES = Slices((0,), DURATION_NS, 0)


def warned(last_took_ns: int) -> bool:
    """Whether it is told where the first publication takes a pass, and the last one so long."""
    assert ORDER.native_pace is not None
    due_ns = _native.publications_due_ns(ORDER.native_pace, SLICES.native)
    messages = SUBSCRIBERS * PUBLICATIONS
    lasts = Histogram()
    lasts.record(PASS_NS)
    lasts.record(last_took_ns)
    heard = Heard(
        {"publications": PUBLICATIONS, "receiver_cpu_ns": 0, "strangers": 0},
        {"latency_ns": Histogram().to_base64(), "last_ns": lasts.to_base64()},
        (messages,),
        (messages,),
        (due_ns[-1] + last_took_ns,),
        {},
    )
    written: dict[str, int | None] = {"writes": messages, "written_bytes": messages * BYTES}
    found = Found(SLICES, 0, Used((None,), None), {}, has_private_network=True, is_elsewhere=False)
    run = assembled(CASE, 0, ORDER, Report(PUBLICATIONS, written), heard, found)
    return any(warning.code == FELL_BEHIND for warning in run.warnings)


ORDER = PublisherOrder(
    host="127.0.0.1",
    port=1,
    runtime="asyncio",
    implementation="stdlib",
    server="protocol",
    strategy=parse_strategy("nodelay"),
    subscribers=SUBSCRIBERS,
    message_bytes=BYTES,
    seed=1,
    burst=1,
    pace=Pace(1e9 / PERIOD_NS, "constant", DURATION_NS, 1),
    patience_ns=1,
    congestion_control="cubic",
)
CASE = Case(
    case_id="fanout/asyncio",
    workload="fanout",
    runtime="asyncio",
    implementation="stdlib",
    strategy="nodelay",
    link="loopback",
    message_bytes=MessageBytes(BYTES, BYTES),
    rate_per_s=1e9 / PERIOD_NS,
    arrival="constant",
    burst=1,
    producers=1,
    connections=SUBSCRIBERS,
    placement="apart",
    parameters=FanoutParameters(
        server="protocol", duration_ns=DURATION_NS, congestion_control="cubic", timeout_ns=1
    ),
)


@pytest.mark.parametrize(
    ("last_took_ns", "is_behind"),
    [
        (PASS_NS, False),
        # It was due while another one was on its way to all, and 1 % of the second is as usual.
        (2 * PASS_NS + 9 * MS, False),
        (2 * PASS_NS + 12 * MS, True),
        (500 * MS, True),
    ],
)
def test_a_publication_may_wait_for_the_one_before_it(last_took_ns: int, is_behind: bool) -> None:
    assert warned(last_took_ns) == is_behind
