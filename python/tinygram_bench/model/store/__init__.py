"""Result files on disk: whole or not at all, and checked when read.

Laws: a path that cannot be written is refused before anything is measured (`check_writable`); a
file that is there is complete: it is written beside its place, synced, then renamed; a file with a
default name replaces none; a file that a measurement saves to is locked until the measurement ends
(file_lock.py), so that no second one resumes it.
"""

from __future__ import annotations

import errno
import itertools
import os
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct, field

from tinygram_bench.model.errors import OutputError, UsageError
from tinygram_bench.model.plain_text import as_utf8
from tinygram_bench.model.result import SCHEMA_VERSION, Named, Result
from tinygram_bench.model.store.earlier_versions import from_version_1
from tinygram_bench.model.store.file_lock import FileLock
from tinygram_bench.model.store.pages import (
    MOST_BYTES,
    MOST_VALUES,
    TooLargeError,
    is_page,
    results_in,
    values_of,
)

RESULTS_DIRECTORY = Path("results")
"""The default directory of results; the only one that is created unasked."""
STANDARD_OUTPUT = Path("-")
_EXAMPLE = "--json /tmp/result.json"
_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class Destination(Struct):
    """The destination of a measurement's result, which grows from round to round.

    `path`: a file, or `STANDARD_OUTPUT`, which gets only the last state. `is_claimed`: saving
    replaces the file; otherwise it makes a new one, and `path` gets `-2`, `-3` … until it is free.
    `saved`: the result that was saved last. `earlier`: what is kept of a resumed measurement.
    `is_anonymous`: nothing that is saved may tell whose it is. `lock`: the lock on the saved file.
    """

    path: Path
    is_claimed: bool = True
    saved: Result | None = None
    earlier: Result | None = None
    is_anonymous: bool = False
    lock: FileLock = field(default_factory=FileLock)

    @staticmethod
    def resumed(path: Path, kept: Callable[[Result], Result]) -> Destination:
        """The file of a measurement to resume; `kept` picks what is kept of its result.

        Raises UsageError where the file is no result file, or another measurement is writing it.
        """
        lock = FileLock()
        if not lock.take(path):
            raise UsageError(
                f"{path} cannot be resumed: another measurement is writing it; wait until that "
                "has ended, or start a new one without --resume"
            )
        # Only now is it certain that nobody else writes it.
        saved = load(path)
        if is_page(path.read_bytes()):
            raise UsageError(
                f"{path} cannot be resumed: it is a page, which the result file would replace; "
                "name the result file, or measure anew"
            )
        return Destination(path, saved=saved, earlier=kept(saved), lock=lock)

    @property
    def is_standard_output(self) -> bool:
        return self.path == STANDARD_OUTPUT

    def check(self) -> None:
        """Raise OutputError unless something could be saved now; leave nothing behind."""
        if not self.is_standard_output:
            check_writable(self.path)
        elif sys.stdout is None:
            raise OutputError("--json - needs standard output, which is closed: name a file")

    def keep(self, result: Result) -> None:
        """Save the result after a round, if the destination is a file. Raises OutputError."""
        if not self.is_standard_output:
            self.save(result)

    def save(self, result: Result) -> None:
        """Save the result. Raises OutputError; the file is then unchanged."""
        if self.is_standard_output:
            _write_out(encoded(result))
        elif self.is_claimed:
            save(result, self.path, self.lock)
        else:
            self.path = claim(self.path, encoded(result), self.lock)
            self.is_claimed = True
        self.saved = result

    def save_elsewhere(self, result: Result) -> Path | None:
        """Save in a new temporary file; return its path, or None where that fails."""
        name = "result.json" if self.is_standard_output else self.path.name
        try:
            path = claim(Path(tempfile.gettempdir()) / f"tinygram-{name}", encoded(result))
        except (OSError, OutputError):
            return None
        self.saved = result
        return path


def default_path(workload: str, now_utc: datetime) -> Path:
    """The default path of a result that starts now, such as `results/<UTC time>-stream.json`."""
    return RESULTS_DIRECTORY / f"{now_utc:%Y%m%dT%H%M%SZ}-{workload}.json"


def check_writable(path: Path, example: str = _EXAMPLE) -> None:
    """Raise OutputError unless `write` could write `path` now; leave nothing behind.

    It tries to make a file, because permission bits do not tell all: root ignores them, and a
    read-only mount or a kernel file system refuses regardless. `example`: an option with a file, as
    the error shows it.
    """
    try:
        if path.exists() and not path.is_file():
            # Renaming onto a device would replace the device.
            raise OutputError(f"cannot write {path}: it is not a file; name one, e.g. {example}")
        directory = path.resolve().parent
        if path.parent == RESULTS_DIRECTORY and not directory.exists():
            directory = directory.parent
        with tempfile.TemporaryFile(dir=directory):
            pass
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, before Python 3.13
        raise _unwritable(path, error, example) from error


def real_path(path: Path) -> Path:
    """The file that `path` leads to, whatever it is called; the path itself in a loop of links."""
    return Path(os.path.realpath(path))


def make_folder(folder: Path, example: str) -> None:
    """Make the folder that an option names, and those above it, where they are missing.

    `example`: an option with a folder, as the error shows it. Raises OutputError where the folder,
    or a file in it, cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unwritable_folder(folder, error, example) from error


def save(result: Result, path: Path, lock: FileLock | None = None) -> None:
    """Write a result as indented JSON, replacing what `path` held; a link is followed.

    `lock` is on the new file afterwards. Raises OutputError; then, and after an interrupt, `path`
    is unchanged and nothing is left beside it.
    """
    try:
        _make_default_folder(path)
        replace(path.resolve(), encoded(result), lock)
    except OSError as error:
        raise _unwritable(path, error) from error


def write(path: Path, document: bytes, example: str) -> None:
    """Write a document whole or not at all, replacing what `path` held; a link is followed.

    `example`: an option with a file, as the error shows it. Raises OutputError.
    """
    try:
        _make_default_folder(path)
        replace(path.resolve(), document)
    except OSError as error:
        raise _unwritable(path, error, example) from error


def write_all(folder: Path, documents: Mapping[str, bytes], example: str) -> None:
    """Write documents, name → content, into a folder: all of them, or none where there is no room.

    `example`: an option with a folder, as the error shows it. Raises OutputError.
    """
    with ExitStack() as stack:
        try:
            places = {(folder / name).resolve(): each for name, each in documents.items()}
            written = [
                (path, stack.enter_context(_beside(path, document, None)))
                for path, document in places.items()
            ]
            for path, temporary in written:
                os.replace(temporary, path)
        except OSError as error:
            raise _unwritable_folder(folder, error, example) from error


def encoded(result: Result) -> bytes:
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"


def load(path: Path) -> Result:
    """Read a result file, or the page of one result.

    Raises UsageError when the file is neither, when its schema version is not known, or when it is
    a page of several results.
    """
    first, *others = load_all(path)
    if others:
        names = ", ".join(each.name for each in (first, *others))
        raise UsageError(
            f"{path} holds {1 + len(others)} results ({names}), and one is needed: name a result "
            "file, or a page that was made of one"
        )
    return first.result


def load_all(path: Path) -> tuple[Named, ...]:
    """Read a result file, or every result of a page that `tinygram report --html` wrote.

    Raises UsageError when there is no result, or one whose schema version is not known.
    """
    document = _content(path)
    if not document.strip():
        raise UsageError(f"{path} is not a result file of tinygram: it is empty")
    if not is_page(document):
        if values_of(document) > MOST_VALUES:
            raise _too_large(path, f"has more than {MOST_VALUES:,} values")
        return (Named(as_utf8(path.stem), _read(document, str(path))),)
    try:
        found = tuple(
            Named(name, _read(each, f"{path} ({name})")) for name, each in results_in(document)
        )
    except TooLargeError as error:
        raise UsageError(f"{path}: {error}; name the result files that it was made of") from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}; make the page again from the result file") from error
    if not found:
        raise UsageError(
            f"{path} is a page that holds no complete result: name a result file, or a page that "
            "`tinygram report --html` wrote"
        )
    return found


def _content(path: Path) -> bytes:
    document = bytearray()
    try:
        with path.open("rb") as file:
            # A device such as /dev/zero has no end.
            while len(document) <= MOST_BYTES and (piece := file.read(1 << 20)):
                document += piece
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}; name a result file, e.g. one in "
            f"{RESULTS_DIRECTORY}/"
        ) from error
    if len(document) > MOST_BYTES:
        raise _too_large(path, f"is longer than {MOST_BYTES >> 20} MiB")
    return bytes(document)


def _too_large(path: Path, how: str) -> UsageError:
    return UsageError(
        f"{path} {how}, and no result file of tinygram is so large: name one, e.g. in "
        f"{RESULTS_DIRECTORY}/"
    )


def _read(document: bytes, where: str) -> Result:
    try:
        version = msgspec.json.decode(document, type=_Header).schema_version
        if version == 1:
            return msgspec.convert(from_version_1(msgspec.json.decode(document)), Result)
        if version != SCHEMA_VERSION:
            raise UsageError(
                f"{where} has schema_version {version}, and this tinygram reads 1 to "
                f"{SCHEMA_VERSION}: measure again, or use the tinygram that wrote it"
            )
        return msgspec.json.decode(document, type=Result)
    except (
        *(msgspec.DecodeError, UnicodeDecodeError, RecursionError),
        # A document that claims to be of version 1, and is not.
        *(LookupError, TypeError, ValueError, AttributeError),
    ) as error:
        if "unknown field" in str(error):
            raise UsageError(
                f"{where} cannot be read: {error}; a newer tinygram may have written it: use that"
            ) from error
        raise UsageError(f"{where} is not a result file of tinygram: {error}") from error


class _Header(msgspec.Struct):
    """What every version of the file has: read first, so that a wrong version is told first."""

    schema_version: int


def replace(path: Path, document: bytes, lock: FileLock | None = None) -> None:
    """Write a file whole or not at all: beside its place, synced, then renamed. Raises OSError."""
    with _beside(path, document, lock) as temporary:
        os.replace(temporary, path)


def claim(path: Path, document: bytes, lock: FileLock | None = None) -> Path:
    """Write a new file whole or not at all, never over another one; return its path.

    That is `path`, or where it is taken the first of `…-2.json`, `…-3.json` … that is free. `lock`
    is on the new file afterwards. Raises OutputError.
    """
    try:
        _make_default_folder(path)
        with _beside(path, document, lock) as temporary:
            for number in itertools.count(1):
                end = "" if number == 1 else f"-{number}"
                free = path.with_name(f"{path.stem}{end}{path.suffix}")
                try:
                    _name_new(temporary, free)
                except FileExistsError:
                    continue
                return free
    except OSError as error:
        raise _unwritable(path, error) from error
    raise AssertionError("itertools.count has no end")


def _name_new(temporary: Path, path: Path) -> None:
    """Give a file its name. Raises FileExistsError where another file has that name."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # Some file systems have no hard links: there the file exists, empty, for a moment.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        os.replace(temporary, path)


@contextmanager
def _beside(path: Path, document: bytes, lock: FileLock | None) -> Iterator[Path]:
    """A file in the same folder that holds the document, synced; its name is gone after the block.

    `lock` is on the file from then on, unless the block fails.
    """
    temporary = path.with_name(f".tinygram-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(document)
            file.flush()
            os.fsync(file.fileno())
        with nullcontext() if lock is None else lock.passed_to(temporary):
            yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _make_default_folder(path: Path) -> None:
    if path.parent == RESULTS_DIRECTORY:
        path.parent.mkdir(exist_ok=True)


def _write_out(document: bytes) -> None:
    """Write to standard output. Raises OutputError for what the user can mend, else OSError."""
    sys.stdout.flush()
    rest = memoryview(document)
    try:
        while rest:
            rest = rest[os.write(sys.stdout.fileno(), rest) :]
    except OSError as error:
        if error.errno in (errno.EPIPE, errno.EIO):
            raise  # The reader has left, which ends a command as it ends others.
        raise OutputError(f"cannot write to standard output: {error.strerror}") from error


def _unwritable(path: Path, error: Exception, example: str = _EXAMPLE) -> OutputError:
    reason = error.strerror if isinstance(error, OSError) else error
    return OutputError(
        f"cannot write {path}: {reason}; name a file in a folder that exists and that you may "
        f"write to, e.g. {example}"
    )


def _unwritable_folder(folder: Path, error: OSError, example: str) -> OutputError:
    return OutputError(
        f"cannot write to the folder {folder}: {error.strerror}; name one that you may write "
        f"to, e.g. {example}"
    )
