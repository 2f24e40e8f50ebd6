"""What `turns.effects` and `turns.targets` look at, and where they store what they find."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from published import stored
from turns import effects, targets
from turns.cases import rounds, stream_cases

ROOT = Path(__file__).parents[2]


def test_latencies_of_slices_are_seen_whole_and_case_by_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(effects, "rounds", partial(rounds, number=1))
    ways = ["loop/nodelay", "loop/tinygram/adaptive"]
    cases = stream_cases(ways, 1_000.0, seconds=0.1)
    found = list(effects._slices_of_rounds(cases, is_awake=False))
    assert [case for case, _ in found] == cases
    assert [[len(each) for each in by_slice] for _, by_slice in found] == [[20] * 5] * 2


def test_a_table_is_stored_under_its_name_on_the_page(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    ratio = stored.Figure(0.997, 0.91, 1.236)
    effects._tell(path, "trend", "A title", ("way", "load", "ratio"), lambda: [("a", "b", ratio)])
    table = stored.read(path).tables["trend"]
    assert (table.bench, table.first) == ("python -m turns.effects", "way")
    assert table.rows == [stored.Row("a", {"load": "b", "ratio": ratio})]
    places = stored.read(stored.ROWS / "resolution.json").tables
    assert effects.parts().keys() <= places.keys()
    assert {"idle", "disturbed", "alike"} <= places.keys()


def test_what_the_page_has_no_table_for_is_not_stored(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["targets", "--awake", "--into", "rows.json"])
    with pytest.raises(SystemExit) as refused:
        targets.main()
    assert refused.value.code == 2
    assert "docs/resolution.md has no table of --awake" in capsys.readouterr().err


_ONE_SHORT_ROUND = """
import sys
from turns import targets
targets._PAIR_ROUNDS, targets._PAIR_S = 1, 0.4
sys.exit(targets.main())
"""


def test_a_load_without_planted_differences_has_rows_of_the_case_beside_itself(
    tmp_path: Path,
) -> None:
    """In a process of its own: getting ready for links takes it into a namespace."""
    path = tmp_path / "rows.json"
    arguments = ["--only", "native/nodelay flat out", "--into", str(path)]
    words = [sys.executable, "-c", _ONE_SHORT_ROUND, *arguments]
    done = subprocess.run(
        words,
        env={**os.environ, "PYTHONPATH": str(ROOT / "benches")},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = stored.read(path).tables["idle"].rows
    assert {row.row for row in rows} == {"native/nodelay flat out"}
    assert "throughput_per_s" in {row.figures["figure"] for row in rows}
