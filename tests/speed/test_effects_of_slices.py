"""What `turns.effects` looks at: every message of a slice, those with it that settle."""

from __future__ import annotations

from functools import partial

import pytest
from turns import effects
from turns.cases import rounds, stream_cases


def test_latencies_of_slices_are_seen_whole_and_case_by_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(effects, "rounds", partial(rounds, number=1))
    ways = ["loop/nodelay", "loop/tinygram/adaptive"]
    cases = stream_cases(ways, 1_000.0, seconds=0.1)
    found = list(effects._slices_of_rounds(cases, is_awake=False))
    assert [case for case, _ in found] == cases
    assert [[len(each) for each in by_slice] for _, by_slice in found] == [[20] * 5] * 2
