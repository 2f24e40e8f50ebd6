"""Result files: whole or not at all. Every refusal here holds for root as well."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.small_result import RESULT

from tinygram_bench.model import store
from tinygram_bench.model.errors import OutputError, UsageError
from tinygram_bench.model.result import (
    Result,
)
from tinygram_bench.model.store.pages import values_of
from tinygram_bench.model.sweep import Point, Sweep
from tinygram_bench.schema import json_schema


def test_a_saved_result_reads_back_and_obeys_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    store.save(RESULT, path)
    assert store.load(path) == RESULT
    jsonschema.validate(msgspec.json.decode(path.read_bytes()), json_schema())
    assert path.read_text().startswith('{\n  "schema_version": 2,\n  "command": [\n')
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_the_file_is_as_readable_as_any_other_file(tmp_path: Path) -> None:
    """A temporary file is private by default; the result must not inherit that."""
    (tmp_path / "plain").touch()
    store.save(RESULT, tmp_path / "result.json")
    assert (tmp_path / "result.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_keeps_pointing_at_the_file(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("target.json")
    store.check_writable(tmp_path / "link.json")
    store.save(RESULT, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert store.load(tmp_path / "target.json") == RESULT


def test_the_default_place_is_made_only_when_saving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = store.default_path("stream", datetime(2026, 11, 21, 10, 15, tzinfo=UTC))
    assert path == Path("results/20261121T101500Z-stream.json")
    store.check_writable(path)
    assert list(tmp_path.iterdir()) == []
    store.save(RESULT, path)
    assert store.load(path) == RESULT


@pytest.mark.parametrize(
    "name",
    [
        "file/result.json",  # under a regular file
        "missing/result.json",
        ".",  # a directory
        "loop",  # a link to itself
        "pipe",
        "x" * 256,
        "/proc/result.json",
        "/dev/null",  # renaming onto it would destroy the device
    ],
)
def test_an_unwritable_place_is_refused_beforehand(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OutputError, match=r"cannot write .*; name .*--json"):
        store.check_writable(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


def test_the_default_folder_may_not_be_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").touch()
    path = store.default_path("stream", datetime.now(UTC))
    with pytest.raises(OutputError):
        store.check_writable(path)
    with pytest.raises(OutputError):
        store.save(RESULT, path)


def test_a_writable_place_is_accepted_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("old")
    store.check_writable(tmp_path / "old.json")
    store.check_writable(tmp_path / "new.json")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [
        ("old.json", "old")
    ]


def test_a_full_disk_leaves_the_old_file_and_no_half_of_the_new(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands for the full disk: the write stops after 100 bytes."""
    path = tmp_path / "result.json"
    store.save(RESULT, path)
    program = (
        "import resource, sys, pathlib\n"
        "from tinygram_bench.model import errors, store\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "result = store.load(path)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try:\n"
        "    store.save(result, path)\n"
        "except errors.OutputError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, path], capture_output=True, text=True, check=True
    )
    assert "cannot write" in done.stdout
    assert "File too large" in done.stdout
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]
    assert store.load(path) == RESULT


def test_an_interrupt_while_saving_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_fd: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.save(RESULT, tmp_path / "result.json")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none\.json: No such file"):
        store.load(tmp_path / "none.json")


def test_a_file_without_an_end_is_refused_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store, "MOST_BYTES", 4 << 20)
    with pytest.raises(UsageError, match="/dev/zero is longer than 4 MiB, and no result file"):
        store.load(Path("/dev/zero"))


def test_values_of_a_file_are_limited_as_those_of_a_page_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "result.json"
    store.save(RESULT, path)
    count = values_of(path.read_bytes())
    monkeypatch.setattr(store, "MOST_VALUES", count)
    assert store.load(path) == RESULT
    monkeypatch.setattr(store, "MOST_VALUES", count - 1)
    with pytest.raises(UsageError, match=rf"result.json has more than {count - 1:,} values, "):
        store.load(path)


def test_millions_of_values_in_few_bytes_are_refused_before_they_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every value of a file of version 1 would be decoded, whatever its name is."""
    monkeypatch.setattr(store, "_read", lambda *_: pytest.fail("they were decoded"))
    path = tmp_path / "hostile.json"
    path.write_bytes(b'{"schema_version": 1, "x": [' + b"[]," * 8_000_000 + b"0]}")
    with pytest.raises(UsageError, match=r"hostile.json has more than 16,000,000 values"):
        store.load(path)


def test_another_schema_version_names_both(tmp_path: Path) -> None:
    """The version is told first, even where the rest of the file has changed too."""
    path = tmp_path / "later.json"
    path.write_text('{"schema_version": 3, "new_field": true}')
    with pytest.raises(UsageError, match=r"schema_version 3, and this tinygram reads 1 to 2"):
        store.load(path)


def test_a_field_that_is_unknown_may_come_of_a_newer_tinygram(tmp_path: Path) -> None:
    document = msgspec.to_builtins(RESULT) | {"new_field": 1}
    (tmp_path / "later.json").write_bytes(msgspec.json.encode(document))
    with pytest.raises(UsageError, match=r"later.json cannot be read: .*a newer tinygram may have"):
        store.load(tmp_path / "later.json")


@pytest.mark.parametrize(
    "document",
    [b"", b"\xff", b"[]", b"{}", b'{"schema_version": 1}', b"[" * 100_000, b'{"a\xff":1}'],
)
def test_other_files_are_usage_errors(tmp_path: Path, document: bytes) -> None:
    (tmp_path / "other.json").write_bytes(document)
    with pytest.raises(UsageError, match="is not a result file of tinygram"):
        store.load(tmp_path / "other.json")


@given(position=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_a_damaged_file_reads_as_a_result_or_is_a_usage_error(
    tmp_path_factory: pytest.TempPathFactory, position: int, byte: int
) -> None:
    document = bytearray(msgspec.json.encode(RESULT))
    document[position % len(document)] = byte
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_bytes(document)
    with contextlib.suppress(UsageError):
        assert isinstance(store.load(path), Result)


def test_a_sweep_without_rounds_is_no_result(tmp_path: Path) -> None:
    """No measurement makes one, but a file may have it."""
    steps = ((Point(1e3, tuple(case.case_id for case in RESULT.plan.cases)),),)
    sweep = Sweep("rate", 1e3, 1e5, 6, steps=steps)
    plan = msgspec.structs.replace(RESULT.plan, sweep=sweep)
    path = tmp_path / "result.json"
    store.save(msgspec.structs.replace(RESULT, plan=plan), path)
    path.write_text(re.sub(r'("high": 100000.0,\s+"rounds": )6', r"\g<1>0", path.read_text()))
    with pytest.raises(UsageError, match="a sweep of 0 rounds a step"):
        store.load(path)


def test_documents_that_have_no_room_together_replace_none(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(OutputError, match=r"^cannot write to the folder .*: File too large; "):
            store.write_all(tmp_path, {"a.svg": b"new", "b.svg": b"x" * 2_000}, "--svg /tmp/a")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.svg"]
    assert (tmp_path / "a.svg").read_text() == "old"
    store.write_all(tmp_path, {"a.svg": b"new", "b.svg": b"x" * 2_000}, "--svg /tmp/a")
    assert [len(path.read_bytes()) for path in sorted(tmp_path.iterdir())] == [3, 2_000]
