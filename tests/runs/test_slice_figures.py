"""What slices say: percentiles of slices and of blocks, what came late, and what did not rest."""

from __future__ import annotations

from tinygram_bench.runs.slice_figures import percentiles_us, slices_told

MS = 1_000_000


def test_a_percentile_is_of_as_many_slices_as_a_block_takes() -> None:
    by_slice_ns = [[1_000, 2_000, 3_000] * 50, [4_000] * 100, [], [5_000] * 250]
    found = percentiles_us("call", by_slice_ns, per_slice=250)
    assert found["call_p50_us"] == (2.0, 4.0, None, 5.0)
    assert found["call_max_us"] == (3.0, 4.0, None, 5.0)
    assert found["call_p99_us"] == (4.0, 5.0)
    assert found["call_p99_9_us"] == ()


def test_percentiles_of_a_block_are_nearest_ranks() -> None:
    by_slice_ns = [
        [each * 1_000 for each in range(first, first + 500)] for first in range(1, 5_000, 500)
    ]
    found = percentiles_us("call", by_slice_ns, per_slice=500)
    assert found["call_p99_us"][0] == 495.0
    assert found["call_p99_9_us"] == (4_995.0,)


def test_a_block_with_less_than_half_of_its_messages_has_no_percentile() -> None:
    found = percentiles_us("call", [[1_000] * 250, [1_000] * 249], per_slice=500)
    assert found["call_p99_us"] == (1.0, None)


def test_who_is_not_at_rest_is_named() -> None:
    counters: dict[str, int | None] = {
        "slices": 10,
        "resting_cpu_ns": 21 * MS,
    }
    (told,) = slices_told(1_000 * MS, counters, "the server", "the client")
    assert told.code == "not_at_rest"
    assert told.message.startswith("the server used 21.0 ms of CPU time between its slices")
    ends: list[tuple[dict[str, int | None], str]] = [
        ({"other_resting_cpu_ns": 22 * MS}, "the server used 21.0 ms of CPU time and the client "),
        ({"resting_cpu_ns": None, "other_resting_cpu_ns": 22 * MS}, "the client used 22.0 ms of "),
    ]
    for busy, named in ends:
        *_, told_last = slices_told(1_000 * MS, counters | busy, "the server", "the client")
        assert told_last.message.startswith(named)
    assert list(slices_told(1_000 * MS, {}, "the server", "the client")) == []
