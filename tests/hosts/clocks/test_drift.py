"""A far clock that does not run evenly: its bound holds between the looks, too."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hosts.clocks.test_clock import NOW_NS, SECOND_NS, TRIP_NS, telling
from tests.support.experiments import deterministic

from tinygram_bench.hosts import clock
from tinygram_bench.hosts.difference import Difference, Followed
from tinygram_bench.hosts.looks import Look, difference, followed
from tinygram_bench.processes.workers import RunError

MS_NS = 1_000_000
Drift = Callable[[int], float]
"""How far the far clock is ahead at a time of ours, in ns."""
milliseconds = st.integers(0, 10_000)
drifts_ppm = st.floats(-500, 500)
feigned = st.lists(st.floats(-0.5, 0.5), min_size=50, max_size=50)
"""Which share of its round trip each look is wrong by."""


def changing(*changes: tuple[int, float]) -> Drift:
    """A clock whose rate changes: at `ms` after the first look by as many millionths."""

    def ahead_ns(at_ns: int) -> float:
        return sum(max(0, at_ns - NOW_NS - ms * MS_NS) * ppm / 1e6 for ms, ppm in changes)

    return ahead_ns


def looked(ahead_ns: Drift, at_ns: Sequence[int], wrong: Sequence[float]) -> list[Look]:
    return [
        Look(at, round(ahead_ns(at) + share * TRIP_NS), TRIP_NS)
        for at, share in zip(at_ns, wrong, strict=False)
    ]


def most_wrong_ns(ahead_ns: Drift, found: Difference | Followed, from_ns: int, to_ns: int) -> float:
    times_ns = range(from_ns, to_ns, 10 * MS_NS)
    return max(abs(found.far_ns(at) - at - ahead_ns(at)) for at in times_ns)


@given(drifts_ppm, milliseconds, drifts_ppm, st.integers(200, 1_000), feigned)
@deterministic
def test_a_clock_that_changes_its_rate_once_is_within_the_bound(
    drift_ppm: float, change_ms: int, change_ppm: float, every_ms: int, wrong: list[float]
) -> None:
    ahead_ns = changing((-5_000, drift_ppm), (change_ms, change_ppm))
    at_ns = [NOW_NS + ms * MS_NS for ms in range(0, 10_000, every_ms)]
    looks = looked(ahead_ns, at_ns, wrong)
    for found in (followed(looks, NOW_NS), difference(looks)):
        assert most_wrong_ns(ahead_ns, found, at_ns[0], at_ns[-1]) <= found.bound_ns


@given(st.integers(1_000, 8_000), st.integers(1, 3_000), drifts_ppm)
@deterministic
def test_a_clock_that_is_set_right_by_running_faster_for_a_while_is_within_the_bound(
    change_ms: int, lasting_ms: int, ppm: float
) -> None:
    """A time daemon does so (adjtimex): the rate changes twice, maybe between the same two."""
    ahead_ns = changing((change_ms, ppm), (change_ms + lasting_ms, -ppm))
    at_ns = [NOW_NS + ms * MS_NS for ms in range(0, 12_500, 500)]
    looks = looked(ahead_ns, at_ns, [0.0] * len(at_ns))
    for found in (followed(looks, NOW_NS), difference(looks)):
        assert most_wrong_ns(ahead_ns, found, at_ns[0], at_ns[-1]) <= found.bound_ns


@given(milliseconds, st.floats(-400_000, 400_000))
@deterministic
def test_a_jump_too_small_to_be_told_is_within_the_bound(jump_ms: int, jump_ns: float) -> None:
    def ahead_ns(at_ns: int) -> float:
        return jump_ns if at_ns - NOW_NS > jump_ms * MS_NS else 0.0

    at_ns = [NOW_NS + ms * MS_NS for ms in range(0, 10_500, 500)]
    looks = looked(ahead_ns, at_ns, [0.0] * len(at_ns))
    for found in (followed(looks, NOW_NS), difference(looks)):
        assert most_wrong_ns(ahead_ns, found, at_ns[0], at_ns[-1]) <= found.bound_ns


def test_what_two_looks_alone_do_not_see_the_looks_between_them_do() -> None:
    ahead_ns = changing((5_000, 100.0))
    at_ns = [NOW_NS + ms * MS_NS for ms in range(0, 10_001, 500)]
    taken = looked(ahead_ns, at_ns, [0.0] * len(at_ns))
    before, after = (followed(looks, NOW_NS) for looks in ([taken[0], taken[-1]], taken))
    assert most_wrong_ns(ahead_ns, before, at_ns[0], at_ns[-1]) > before.bound_ns
    assert most_wrong_ns(ahead_ns, after, at_ns[0], at_ns[-1]) <= after.bound_ns
    # The drift is followed: half a round trip, as much as looks four times as far apart may feign,
    # and what it strays in half a second at most.
    assert after.bound_ns <= TRIP_NS * 0.75 + 100e-6 * SECOND_NS / 2 + 1


def test_a_clock_that_is_slowed_down_as_much_as_can_be_has_not_jumped() -> None:
    ahead_ns = changing((0, 500.0), (30_000, -1_000.0))
    at_ns = [NOW_NS + ms * MS_NS for ms in range(0, 60_000, 500)]
    looks = looked(ahead_ns, at_ns, [0.0] * len(at_ns))
    for found in (followed(looks, NOW_NS), difference(looks)):
        assert most_wrong_ns(ahead_ns, found, at_ns[0], at_ns[-1]) <= found.bound_ns


def test_what_a_clock_did_before_a_run_is_not_in_the_runs_bound() -> None:
    ahead_ns = changing((0, 200.0), (3_000, -200.0))
    at_ns = [NOW_NS + ms * MS_NS for ms in range(0, 60_000, 500)]
    start_ns = at_ns[100] + MS_NS
    with telling(lambda _: 0) as asked:
        asked._looks.extend(looked(ahead_ns, at_ns, [0.0] * len(at_ns)))
        found = asked.followed(start_ns)
    assert most_wrong_ns(ahead_ns, found, start_ns, at_ns[-1]) <= found.bound_ns
    assert found.bound_ns <= TRIP_NS * 0.75 + 1


def test_an_earlier_look_that_took_long_is_not_in_the_bound_of_a_run() -> None:
    at_ns = [NOW_NS + ms * MS_NS for ms in (0, 1_000, 2_000, 20_000, 22_000)]
    looks = looked(changing(), at_ns, [0.0] * len(at_ns))
    looks[1] = Look(at_ns[1], 10 * TRIP_NS, 20 * TRIP_NS)
    assert followed(looks, at_ns[3]).bound_ns < 2 * TRIP_NS
    assert followed(looks, at_ns[1]).bound_ns >= 10 * TRIP_NS


def test_looks_that_lie_close_together_say_nothing_of_the_rate_of_a_long_time() -> None:
    """5 µs that a round trip feigned within 50 ms are no drift of 100 millionths."""
    looks = [
        Look(NOW_NS, 0, TRIP_NS),
        Look(NOW_NS + 50 * MS_NS, 5_000, TRIP_NS),
        Look(NOW_NS + 10 * SECOND_NS, 0, TRIP_NS),
    ]
    assert followed(looks, NOW_NS).bound_ns < TRIP_NS / 2 + 10_000


def test_a_look_in_between_ends_in_time_and_a_slow_one_is_kept_apart() -> None:
    wait_s = 0.0

    def time_ns(_: int) -> int:
        time.sleep(wait_s)
        return time.monotonic_ns()

    with telling(time_ns) as found:
        found.look()
        (first,) = found._looks
        kept = len(found._looks)
        wait_s = max(0.05, first.round_trip_ns / 1e9 * 4)
        begun_s = time.monotonic()
        found.look_between(time.monotonic_ns(), time.monotonic_ns() + 10 * SECOND_NS)
        assert time.monotonic() - begun_s < 2 * wait_s + 1
        assert len(found._looks) == kept
        assert len(found._slow) >= 1


def test_a_slow_look_counts_where_it_contradicts_the_others() -> None:
    ahead_ns = changing((1_000, 400.0))
    at_ns = [NOW_NS, NOW_NS + 2_000 * MS_NS]
    looks = looked(ahead_ns, at_ns, [0.0, 0.0])
    middle_ns = NOW_NS + 1_000 * MS_NS
    blind = followed(looks, NOW_NS)
    assert most_wrong_ns(ahead_ns, blind, *at_ns) > blind.bound_ns
    seeing = followed(looks, NOW_NS, [Look(middle_ns, 20_000, 5 * TRIP_NS)])
    assert most_wrong_ns(ahead_ns, seeing, *at_ns) <= seeing.bound_ns
    unsure = followed(looks, NOW_NS, [Look(middle_ns, 190_000, 5 * TRIP_NS)])
    assert unsure.bound_ns == blind.bound_ns
    before = followed(looks, NOW_NS, [Look(NOW_NS - SECOND_NS, 0, 5 * TRIP_NS)])
    assert before.bound_ns == blind.bound_ns


def test_a_look_in_between_that_fails_is_told_by_the_look_after_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "_LIMIT_S", 0.2)
    wait_s = 0.0

    def time_ns(_: int) -> int:
        time.sleep(wait_s)
        return time.monotonic_ns()

    with telling(time_ns) as found:
        found.look()
        wait_s = 1.0
        found.look_between(time.monotonic_ns() + 10 * MS_NS)
        with pytest.raises(RunError, match="does not answer"):
            found.look()


def test_no_answer_is_waited_for_when_a_pause_is_over() -> None:
    """It comes later, and is not taken for that to the next question."""
    wait_s = 0.0

    def time_ns(_: int) -> int:
        told_ns = time.monotonic_ns()
        time.sleep(wait_s)
        return told_ns

    with telling(time_ns) as found:
        found.look()
        wait_s = 1.0
        begun_s = time.monotonic()
        for _ in range(2):
            found.look_between(time.monotonic_ns() + 20 * MS_NS)
        assert time.monotonic() - begun_s < 0.8
        assert len(found._looks) == 1
        wait_s = 0.0
        found.look()
        first, last = found._looks
        assert abs(last.offset_ns) <= last.round_trip_ns
        assert last.at_ns - first.at_ns >= 0.9 * SECOND_NS


def test_a_clock_is_looked_at_while_a_case_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_ALONE_EVERY_S", 0.01)
    monkeypatch.setattr(clock, "_MOST_TIMES_SHORTEST", 1_000_000)
    with telling(lambda _: time.monotonic_ns()) as found:
        found.look()
        with found.looking():
            give_up_s = time.monotonic() + 20
            while len(found._looks) < 4 and time.monotonic() < give_up_s:
                time.sleep(0.001)
        at_ns = [look.at_ns for look in found._looks]
        assert len(at_ns) >= 4
        assert at_ns == sorted(at_ns)
