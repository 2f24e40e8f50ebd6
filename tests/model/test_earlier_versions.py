"""Result files that earlier versions of the format wrote are read, summed up and shown as ever.

tests/stored has one of each workload, as the last tinygram with that version wrote it.
"""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.console import Console

from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import SizesParameters, StreamParameters
from tinygram_bench.model.result import SCHEMA_VERSION
from tinygram_bench.report import render
from tinygram_bench.statistics import compare, summarise

STORED = sorted((Path(__file__).parent / "stored").glob("v1-*.json"))
WORKLOADS = {"stream", "rr", "echo", "sizes"}


def test_there_is_one_of_each_workload() -> None:
    found = {store.load(path).plan.cases[0].workload for path in STORED}
    assert found == WORKLOADS


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_it_says_what_it_said(path: Path) -> None:
    result = store.load(path)
    document = json.loads(path.read_text())
    assert document["schema_version"] == 1
    assert result.schema_version == SCHEMA_VERSION
    assert [run.case_id for run in result.runs] == [run["case_id"] for run in document["runs"]]
    assert summarise(result.plan, result.runs) == result.summaries
    found = compare(result.plan, result.summaries, result.runs)
    # The words of a reason may change; what is said of which figure, and why, may not.
    assert [replace(each, reason=each.reason and "said") for each in found] == [
        replace(each, reason=each.reason and "said") for each in result.verdicts
    ]
    shown = io.StringIO()
    render(result, Console(file=shown, width=200), published=False)
    for sentence in result.answer:
        assert sentence.split("\n")[0][:40] in shown.getvalue()


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_saved_again_it_is_of_this_version(path: Path, tmp_path: Path) -> None:
    result = store.load(path)
    store.save(result, tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["schema_version"] == SCHEMA_VERSION
    assert store.load(tmp_path / "again.json") == result


def changed(path: Path, tmp_path: Path, **parameters: Any) -> Path:
    """The file with other parameters in all of its cases."""
    document = json.loads(path.read_text())
    cases = [*document["plan"]["cases"], *(each["case"] for each in document["summaries"])]
    for case in cases:
        case["parameters"].update(parameters)
    (tmp_path / "changed.json").write_text(json.dumps(document))
    return tmp_path / "changed.json"


def test_switches_of_studies_are_taken_over(tmp_path: Path) -> None:
    (flat_out,) = (path for path in STORED if path.stem == "v1-stream-flat-out")
    path = changed(flat_out, tmp_path, pacer_sleeps=True, withholds=False, flat_out_burst=16)
    study = StreamParameters.of(store.load(path).plan.cases[0]).study
    assert (study.pacer_sleeps, study.flat_out_burst) == (True, 16)


def test_a_switch_that_is_gone_is_not_read_as_if_it_had_been_off(tmp_path: Path) -> None:
    (flat_out,) = (path for path in STORED if path.stem == "v1-stream-flat-out")
    with pytest.raises(UsageError, match="withholds"):
        store.load(changed(flat_out, tmp_path, withholds=True))


def test_sizes_to_predict_are_taken_over() -> None:
    (path,) = (path for path in STORED if path.stem == "v1-sizes")
    cases = store.load(path).plan.cases
    predicted = {case.parameters for case in cases if isinstance(case.parameters, SizesParameters)}
    assert {each.predicted_bytes for each in predicted if each.part is None} == {(65_536,)}


@given(st.sampled_from(["plan", "summaries"]), st.none() | st.integers() | st.text())
def test_what_is_none_is_a_usage_error(name: str, found: Any) -> None:
    document = json.loads(STORED[0].read_text()) | {name: found}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(document))
        file.flush()
        with pytest.raises(UsageError, match="is not a result file of tinygram"):
            store.load(Path(file.name))
