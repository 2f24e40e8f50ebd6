"""When messages may be handed over flat out: in the openings of slices, and never in between."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygram_bench.loads.openings import Openings


def test_one_waits_for_the_next_opening_and_for_none_after_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times_ns = [900, 1_100, 1_139, 1_140, 1_499, 1_500, 1_539, 1_540, 9_999]
    monkeypatch.setattr(time, "monotonic_ns", iter(times_ns).__next__)
    openings = Openings([100, 500], 40)
    openings.start(1_000)
    waits = [openings.wait_ns() for _ in times_ns]
    assert waits == [200, 0, 0, 360, 1, 0, 0, None, None]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 100)), min_size=1, max_size=20),
    st.integers(1, 30),
)
def test_it_is_open_only_in_openings(gaps: list[tuple[int, int]], open_ns: int) -> None:
    begins_ns: list[int] = []
    for gap_ns, _ in gaps:
        begins_ns.append((begins_ns[-1] + open_ns if begins_ns else 0) + gap_ns)
    openings = Openings(begins_ns, open_ns)
    openings.start(0)
    now_ns = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic_ns", lambda: now_ns)
        for _, step_ns in gaps:
            now_ns += step_ns
            wait_ns = openings.wait_ns()
            nexts = [begin for begin in begins_ns if now_ns < begin + open_ns]
            assert wait_ns == (max(0, nexts[0] - now_ns) if nexts else None)
