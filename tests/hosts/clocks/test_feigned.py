"""Looks that are wrong, each as much as it can be: the bound of the way between them holds."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import product

import pytest
from tests.hosts.clocks.test_clock import NOW_NS, TRIP_NS
from tests.hosts.clocks.test_drift import MS_NS, Drift, changing, looked, most_wrong_ns

from tinygram_bench.hosts.looks import Look, difference, followed
from tinygram_bench.processes.workers import RunError

EVERY_MS = 500
FEIGNED_PPM = TRIP_NS / (EVERY_MS * MS_NS) * 1e6
"""The rate that two looks in a row feign where they are wrong in opposite directions."""
AT_NS = [NOW_NS + EVERY_MS * MS_NS * number for number in range(9)]


def jumping(jump_ns: float, at_ms: int) -> Drift:
    return lambda at_ns: jump_ns if at_ns - NOW_NS > at_ms * MS_NS else 0.0


def bending(ppm: float, at_ms: int) -> Drift:
    return changing((-5_000, ppm), (at_ms, -2 * ppm))


CLOCKS = {
    f"{name} {size} {share} on": clock(size * unit, round((2 + share) * EVERY_MS))
    for name, clock, unit in (("bends", bending, FEIGNED_PPM), ("jumps", jumping, float(TRIP_NS)))
    for size in (0.25, 0.5, 1.0, 2.0)
    for share in (0.1, 0.5, 0.9)
}


@pytest.mark.parametrize("name", CLOCKS)
def test_the_bound_holds_whatever_the_signs_of_the_looks_errors(name: str) -> None:
    ahead_ns = CLOCKS[name]
    for looks in (AT_NS[:5], AT_NS[:6]):
        for wrong in product((-0.5, 0.0, 0.5), repeat=len(looks)):
            taken = looked(ahead_ns, looks, wrong)
            found = followed(taken, looks[2])
            worst_ns = most_wrong_ns(ahead_ns, found, looks[2], looks[-1])
            # A nanosecond for what a look's time is rounded by.
            assert worst_ns <= found.bound_ns + 1, wrong


def test_looks_that_show_a_clock_at_rest_may_hide_one_that_turns_round() -> None:
    """Each is wrong by half of its round trip, and the clock is off by all of it in between."""
    ahead_ns = bending(FEIGNED_PPM, 5 * EVERY_MS // 2)
    offsets_ns = [-TRIP_NS, 0, 0, 0, 0]
    first_ns = ahead_ns(AT_NS[2]) - TRIP_NS / 2
    looks = [
        Look(at_ns, round(first_ns) + offset_ns, TRIP_NS)
        for at_ns, offset_ns in zip(AT_NS, offsets_ns, strict=False)
    ]
    assert all(abs(each.offset_ns - ahead_ns(each.at_ns)) <= TRIP_NS / 2 for each in looks)
    found = followed(looks, AT_NS[2])
    worst_ns = most_wrong_ns(ahead_ns, found, AT_NS[2], AT_NS[4])
    assert worst_ns == pytest.approx(TRIP_NS, rel=0.01)
    assert worst_ns <= found.bound_ns
    assert worst_ns <= difference(looks).bound_ns


@pytest.mark.parametrize(("trips", "is_told"), [(2.9, False), (3.1, True)])
def test_a_jump_is_told_beyond_a_millisecond_and_three_round_trips(
    trips: float, is_told: bool
) -> None:
    """A smaller one is within the bound, if it is also one that clocks can drift by."""
    ahead_ns = jumping(MS_NS + trips * TRIP_NS, 4_500)
    at_ns = [NOW_NS + ms * MS_NS for ms in range(0, 10_000, 1_000)]
    looks = looked(ahead_ns, at_ns, [0.0] * len(at_ns))
    for find in (lambda: followed(looks, NOW_NS), lambda: difference(looks)):
        with pytest.raises(RunError, match="has jumped") if is_told else nullcontext():
            found = find()
            assert most_wrong_ns(ahead_ns, found, at_ns[0], at_ns[-1]) <= found.bound_ns


def test_the_bound_of_an_even_clock_is_three_quarters_of_a_round_trip() -> None:
    """Nine looks know its rate around each two by looks that are four times as far apart."""
    looks = looked(changing((0, 50.0)), AT_NS, [0.0] * len(AT_NS))
    assert followed(looks, NOW_NS).bound_ns <= 0.75 * TRIP_NS + 1
    beside = looks[:2]
    assert followed(beside, NOW_NS).bound_ns <= 0.5 * TRIP_NS + 1
