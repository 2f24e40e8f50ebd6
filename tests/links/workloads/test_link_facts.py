"""A link's line: what is said of its round trip, as it was asked and as it was found."""

from __future__ import annotations

import pytest
from tests.links.workloads.facts import facts

from tinygram_bench.links.facts import described

ASKED_NS = 1_000_000


@pytest.mark.parametrize(
    ("asked_ns", "left_ns", "said"),
    [
        (ASKED_NS, None, ""),
        (None, 60_400, "; a ping-pong took 60 µs"),
        (ASKED_NS, ASKED_NS + 499, "; a ping-pong took as long as was asked"),
        (ASKED_NS, ASKED_NS + 3_000, "; a ping-pong took 3 µs more than asked"),
        (ASKED_NS, ASKED_NS - 3_000, "; a ping-pong took 3 µs less than asked"),
    ],
)
def test_how_far_the_round_trip_is_off_is_said(
    asked_ns: int | None, left_ns: int | None, said: str
) -> None:
    found = facts(asked_rtt_ns=asked_ns, found_rtt_ns=left_ns, left_rtt_ns=left_ns)
    head = "rtt=1ms by relay (tun), MTU 1500, device queues 10,000 packets, no offload"
    assert described(found) == head + said


def test_what_was_found_after_calibrating_is_said_where_it_was_done() -> None:
    calibrated = facts(found_rtt_ns=ASKED_NS + 60_000, left_rtt_ns=ASKED_NS)
    assert described(calibrated).endswith("as long as was asked")
    found = facts(found_rtt_ns=ASKED_NS + 60_000, left_rtt_ns=None, excess_ns=None)
    assert described(found).endswith("60 µs more than asked")
