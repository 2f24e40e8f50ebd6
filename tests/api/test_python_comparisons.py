"""Two results compared in Python: as `tinygram compare` does, as a value and as a frame."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import pytest
from msgspec.structs import replace
from tests.support.command import Call
from tests.support.compared import compared_result
from tests.support.experiments import paced, result_of

from tinygram_bench import Comparison, Result, compare
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "measure-from-python.md"
RATES = {way: [1e5] * 8 for way in ("nodelay", "nagle")}
BASE = compared_result(RATES, {"nodelay": [1000] * 8, "nagle": [50] * 8})
MORE_WRITES = compared_result(RATES, {"nodelay": [1000] * 8, "nagle": [100] * 8})
FEW_ROUNDS = compared_result({way: [1e5] * 2 for way in RATES})


def compared(after: Any = BASE, **options: Any) -> Comparison:
    return compare(Result(BASE), Result(after), **options)


def test_nothing_has_changed_between_a_result_and_itself() -> None:
    found = compared()
    assert found.answer == ("No change is shown in 2 cases.", "8 figures show no change.")
    assert found.differences == ()
    assert found.passed is None
    assert {change.shown for change in found.changes} == {"not_shown"}


def test_a_change_is_a_value_and_a_row() -> None:
    first, *_ = (found := compared(MORE_WRITES)).changes
    assert (first.case.strategy, first.figure, first.shown) == (
        "nagle",
        "writes_per_message",
        "worse",
    )
    assert first.ratio is not None
    assert first.ratio.median == 2
    frame = found.frame("polars")
    assert len(frame) == len(found.changes)
    row = frame.row(0, named=True)
    assert (row["strategy"], row["kind"], row["shown"], row["reason"]) == (
        "nagle",
        "counts",
        "worse",
        None,
    )
    assert (row["ratio_median"], row["ratio_low"], row["ratio_high"]) == (2, 2, 2)
    assert row["after_median"] == 2 * row["before_median"]


@pytest.mark.parametrize("after", [BASE, MORE_WRITES, FEW_ROUNDS], ids=["same", "worse", "unknown"])
def test_a_gate_says_what_that_of_the_command_line_says(
    tmp_path: Path, call: Call, after: Any
) -> None:
    found = compared(after, fail_above=0.05)
    for name, result in (("before", BASE), ("after", after)):
        store.save(result, tmp_path / f"{name}.json")
    done = call("compare", "before.json", "after.json", "--fail-above", "5%")
    assert found.passed is not None
    codes = {
        "passes": ExitCode.OK,
        "fails": ExitCode.REGRESSION,
        "cannot_say": ExitCode.INCONCLUSIVE,
    }
    assert done.returncode == codes[found.passed]
    # A pipe gets ASCII.
    told = [each.replace("×", "x").replace("–", "-") for each in found.answer]
    assert [each for each in told if each not in " ".join(done.stdout.split())] == []


def test_counts_alone_are_compared_where_that_is_asked_for() -> None:
    assert {change.kind for change in compared(gate="counts").changes} == {"counts"}


def test_results_of_other_hosts_are_compared_where_that_is_asked_for() -> None:
    other = replace(BASE, host="elsewhere")
    said = "the result before and the result after are not comparable: host: "
    with pytest.raises(UsageError, match=said):
        compared(other)
    found = compared(other, anyway=True)
    assert found.differences == (f"not comparable: host: {BASE.host} before, elsewhere after",)


@pytest.mark.parametrize(
    ("ask", "fault"),
    [
        (lambda: compared(gate="all"), "gate 'all' is unknown: .* times, counts, both"),
        (lambda: compared(fail_above=-0.1), "fail_above=-0.1 is not a share"),
        (lambda: compared(compared_result({"cork": [1e5] * 8})), "have no case in common"),
    ],
)
def test_what_cannot_be_compared_is_said(ask: Callable[[], Any], fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        ask()


def test_a_result_whose_values_contradict_each_other_is_refused() -> None:
    sound = result_of(*paced({f"loop/{way}": [20.0] * 8 for way in RATES}))
    first, *others = sound.runs
    damaged = replace(first, histograms=dict.fromkeys(first.histograms, "no histogram"))
    after = Result(replace(sound, runs=(damaged, *others)))
    with pytest.raises(UsageError, match="the result before and the result after: the values"):
        compare(Result(sound), after)


def test_the_example_of_the_page_says_what_changed(tmp_path: Path) -> None:
    for name, result in (("before", BASE), ("after", MORE_WRITES)):
        store.save(result, tmp_path / f"{name}.json")
    snippets = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (example,) = (each for each in snippets if "compare(" in each)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{example}\nprint(len(worse), passed)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    answer, *_, last = done.stdout.splitlines()
    assert "shown to be worse (" in answer
    assert last == "1 fails"


if TYPE_CHECKING:
    import pandas
    import polars

    def typed(found: Comparison) -> None:
        """What type checkers know; a mistake here is an error of mypy."""
        assert_type(found.frame("polars"), polars.DataFrame)
        assert_type(found.frame("pandas"), pandas.DataFrame)
        assert_type(found.frame(), polars.DataFrame | pandas.DataFrame)
