"""Results in Python: frames, charts, and clear words where something is missing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import pytest
from tests.support.experiments import flat_out, paced, result_of

from tinygram_bench import Result, load
from tinygram_bench.api import frames
from tinygram_bench.api.frames import Library
from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError

PACED = result_of(*paced({"loop/nodelay": [20.0, 21.0], "loop/nagle": [30.0, 31.0]}))
FLAT_OUT = result_of(*flat_out({"loop/nodelay": [1000.0] * 7, "loop/nagle": [500.0] * 7}))
LIBRARIES: tuple[Library, ...] = ("polars", "pandas")
HERE = [name for name in LIBRARIES if importlib.util.find_spec(name)]


def rows(frame: Any) -> list[dict[str, Any]]:
    found = frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records")
    return list(found)


@pytest.mark.parametrize("library", HERE)
def test_a_row_for_each_figure_of_each_case(library: Library) -> None:
    frame = Result(PACED).frame("summaries", library)
    assert type(frame).__module__.startswith(library)
    found = {(each["strategy"], each["figure"]): each for each in rows(frame)}
    p50 = found["nagle", "latency_p50_us"]
    known = PACED.summaries[1].figures["latency_p50_us"]
    assert known is not None
    assert (p50["median"], p50["low"], p50["high"]) == (known.median, known.low, known.high)
    assert (p50["message_bytes_min"], p50["message_bytes_max"], p50["rounds"]) == (1, 500, 2)
    assert len(found) == sum(len(each.figures) for each in PACED.summaries)


def test_a_row_for_each_verdict_and_each_run() -> None:
    verdicts = rows(Result(FLAT_OUT).frame("verdicts"))
    assert [each["verdict"] for each in verdicts] == [each.verdict for each in FLAT_OUT.verdicts]
    throughput = next(each for each in verdicts if each["figure"] == "throughput_per_s")
    assert (throughput["ratio_median"], throughput["verdict"]) == (0.5, "slower")
    runs = rows(Result(FLAT_OUT).frame("runs"))
    assert [each["round"] for each in runs] == [each.round for each in FLAT_OUT.runs]
    assert [each["writes"] for each in runs] == [each.counters["writes"] for each in FLAT_OUT.runs]


def test_an_empty_table_is_a_frame() -> None:
    plan, _ = paced({"loop/nodelay": [20.0]})
    assert rows(Result(result_of(plan, ())).frame("runs")) == []


def test_a_file_is_read_as_the_command_line_reads_it(tmp_path: Path) -> None:
    store.save(PACED, tmp_path / "a.json")
    assert load(tmp_path / "a.json").stored == PACED
    with pytest.raises(UsageError, match=r"none\.json"):
        load(str(tmp_path / "none.json"))


@pytest.mark.parametrize(
    ("name", "library", "fault"),
    [
        ("figures", None, "no frame 'figures': the known ones are summaries, verdicts, runs"),
        ("runs", "arrow", "no frames of 'arrow': the known ones are polars, pandas"),
    ],
)
def test_what_there_is_no_frame_of(name: Any, library: Any, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        Result(PACED).frame(name, library)


def test_a_missing_extra_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "find_spec", lambda _name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"pip install 'tinygram\[frames\]'"):
        Result(PACED).frame("runs")
    with pytest.raises(UsageError, match=r"the extra `report`: pip install 'tinygram\[report\]'"):
        Result(PACED).chart("percentiles")


def test_a_chart_by_its_name_or_a_part_of_it() -> None:
    result = Result(PACED)
    assert "latency-percentiles" in result.charts()
    chart = result.chart("percentiles")
    assert type(chart).__module__.startswith("altair")
    assert chart.to_dict() == result.chart("latency-percentiles").to_dict()
    assert chart.to_dict()["layer"]


def test_another_chart_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="'pie' is no chart of this result: there are latency-"):
        Result(PACED).chart("pie")
    with pytest.raises(UsageError, match=r"several.*there are latency-median, latency-perc"):
        Result(PACED).chart("latency")


def test_results_import_neither_frames_nor_charts() -> None:
    program = (
        "import sys; from tinygram_bench import compare, load; "
        "print({'polars', 'pandas', 'narwhals', 'altair'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")


if TYPE_CHECKING:
    import altair
    import pandas
    import polars

    def typed(result: Result) -> None:
        """What type checkers know; a mistake here is an error of mypy."""
        assert_type(result.frame("runs", "polars"), polars.DataFrame)
        assert_type(result.frame("runs", "pandas"), pandas.DataFrame)
        assert_type(result.frame("runs"), polars.DataFrame | pandas.DataFrame)
        assert_type(result.chart("latency-median"), altair.LayerChart)
