"""A result file in which one value is gone, or another: it works, or is refused in one line.

People edit these files by hand, and other programs write them. No such file ends in a traceback.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.compared import compared_result
from tests.support.experiments import swept

from tinygram_bench import cli
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.measuring import Asked
from tinygram_bench.model import store

WAYS, RATES, ROUNDS = ("loop/nodelay", "loop/nagle"), (1e3, 1e5), 6
OTHERS: tuple[object, ...] = (None, "text", -1, 0, 2.5, True, [], {}, [1])
"""What stands in a value's place; a deletion is one more."""
FORMS = (
    ("report", "FILE"),
    ("report", "FILE", "--markdown"),
    ("report", "FILE", "--csv", "-"),
    ("report", "FILE", "--html", "page.html"),
    ("compare", "FILE", "whole.json", "--fail-above", "5%"),
    ("compare", "whole.json", "FILE", "--anyway"),
    ("rerun", "FILE"),
)
Path_ = tuple[str | int, ...]


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Every place in a document; of a list only the first and the last element."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, each in value.items():
            yield from places(each, (*path, name))
    elif isinstance(value, list):
        for at in sorted({0, len(value) - 1}) if value else ():
            yield from places(value[at], (*path, at))


def mutilated(document: bytes, path: Path_, other: object, *, is_gone: bool) -> bytes:
    found = json.loads(document)
    *to, last = path
    inside = found
    for each in to:
        inside = inside[each]
    if is_gone:
        del inside[last]
    else:
        inside[last] = other
    return json.dumps(found).encode()


@cache
def whole(name: str) -> bytes:
    """A result file in which no value was changed: `flat` or `swept`."""
    if name == "swept":
        return store.encoded(swept(WAYS, RATES, ROUNDS))
    rates, writes = {"nodelay": [1e5] * 8, "nagle": [9e4] * 8}, {"nagle": [50] * 8}
    return store.encoded(compared_result(rates, writes))


def everywhere() -> st.SearchStrategy[tuple[str, Path_]]:
    """Every place in both of them."""
    names = ("flat", "swept")
    return st.sampled_from([(name, at) for name in names for at in places(json.loads(whole(name)))])


def without_measuring(asked: Asked) -> ExitCode:
    """Tell what differs, as when a file that is whole enough is measured again."""
    asked.tell_environment({"kernel": "6.1.0", "sysctls": {"net.core.somaxconn": "4096"}})
    return ExitCode.OK


@settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.deferred(everywhere), st.sampled_from(OTHERS), st.booleans(), st.sampled_from(FORMS))
def test_a_file_with_one_value_changed_works_or_is_refused_in_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    place: tuple[str, Path_],
    other: object,
    is_gone: bool,
    form: tuple[str, ...],
) -> None:
    name, path = place
    (tmp_path / "whole.json").write_bytes(whole(name))
    file = tmp_path / "changed.json"
    file.write_bytes(mutilated(whole(name), path, other, is_gone=is_gone))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        patch.setattr("tinygram_bench.cli.commands.rerun.measure_and_show", without_measuring)
        patch.setattr(
            sys, "argv", ["tinygram", *(each.replace("FILE", file.name) for each in form)]
        )
        with pytest.raises(SystemExit) as ended:
            cli.main()
    said = capsys.readouterr().err
    if ended.value.code == ExitCode.USAGE:
        assert said.startswith("tinygram: error: ")
        assert said.count("\n") == 1
    else:
        assert ended.value.code in (ExitCode.OK, ExitCode.REGRESSION, ExitCode.INCONCLUSIVE)


@pytest.mark.parametrize("command", ["report", "compare", "rerun"])
def test_a_sweep_without_steps_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    file = tmp_path / "sweep.json"
    file.write_bytes(mutilated(whole("swept"), ("plan", "sweep", "steps"), [], is_gone=False))
    words = [command, str(file), *([str(file)] if command == "compare" else [])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["tinygram", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    assert ended.value.code == ExitCode.USAGE
    assert "is not a result file of tinygram: a sweep without points" in capsys.readouterr().err
