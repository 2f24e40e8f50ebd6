"""Result files on disk: whole or not at all, and checked when read.

Law: a path that cannot be written is refused before anything is measured (`check_writable`), and
a file that is there is complete: it is written beside its place, synced, then renamed.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from tinygram.bench.errors import OutputError, UsageError
from tinygram.bench.result import SCHEMA_VERSION, Result

RESULTS_DIRECTORY = Path("results")
"""Where results go unless told otherwise; the only directory that is ever created."""


def default_path(workload: str, now_utc: datetime) -> Path:
    """Where the result of a measurement that starts now goes: `results/<UTC time>-stream.json`."""
    return RESULTS_DIRECTORY / f"{now_utc:%Y%m%dT%H%M%SZ}-{workload}.json"


def check_writable(path: Path) -> None:
    """Raise OutputError unless `save` could write `path` now; leave nothing behind.

    It tries to make a file, for permission bits do not tell what root, a read-only mount or a
    kernel file system will refuse.
    """
    try:
        if path.exists() and not path.is_file():
            # Renaming onto a device would replace the device.
            raise OutputError(
                f"cannot write {path}: it is not a file; name one, e.g. --json a.json"
            )
        directory = path.resolve().parent
        if path.parent == RESULTS_DIRECTORY and not directory.exists():
            directory = directory.parent
        with tempfile.TemporaryFile(dir=directory):
            pass
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, before Python 3.13
        raise _unwritable(path, error) from error


def save(result: Result, path: Path) -> None:
    """Write a result as indented JSON, replacing what `path` held; a link is followed.

    Raises OutputError; then, and when interrupted, `path` is as it was and nothing is left beside
    it.
    """
    document = msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"
    try:
        if path.parent == RESULTS_DIRECTORY:
            path.parent.mkdir(exist_ok=True)
        replace(path.resolve(), document)
    except OSError as error:
        raise _unwritable(path, error) from error


def load(path: Path) -> Result:
    """Read a result file. Raises UsageError when it is none, or of another schema version."""
    try:
        document = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}; name a result file, e.g. one in "
            f"{RESULTS_DIRECTORY}/"
        ) from error
    try:
        version = msgspec.json.decode(document, type=_Header).schema_version
        if version != SCHEMA_VERSION:
            raise UsageError(
                f"{path} has schema_version {version}, and this tinygram reads {SCHEMA_VERSION}: "
                "measure again, or use the tinygram that wrote it"
            )
        return msgspec.json.decode(document, type=Result)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is no result file of tinygram: {error}") from error


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a result file."""
    return msgspec.json.schema(Result)


class _Header(msgspec.Struct):
    """What every version of the file has: read first, so that the version is the first error."""

    schema_version: int


def replace(path: Path, document: bytes) -> None:
    """Write a file whole or not at all: beside its place, synced, then renamed. Raises OSError."""
    temporary = path.with_name(f".tinygram-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(document)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _unwritable(path: Path, error: Exception) -> OutputError:
    reason = error.strerror if isinstance(error, OSError) else error
    return OutputError(
        f"cannot write {path}: {reason}; name a file in a folder that exists and that you may "
        "write to, e.g. --json /tmp/result.json"
    )
