"""Results that a command works from: files of which only the name is known."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tinygram_bench._native import Histogram
from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Named, Result

_SENSELESS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""The errors that values lead to which no measurement can have made."""


def load(file: Path) -> Result:
    """The one result of a file. Raises UsageError, also where a histogram is damaged."""
    result = store.load(file)
    _check_histograms(file, result)
    return result


def load_all(file: Path) -> tuple[Named, ...]:
    """Every result of a file. Raises UsageError, also where a histogram is damaged."""
    results = store.load_all(file)
    for each in results:
        _check_histograms(file, each.result)
    return results


@contextmanager
def made_of(*results: Path | str) -> Iterator[None]:
    """A block that works with nothing but these results, named by their files or in words.

    Raises UsageError where the block fails: a file can have the form of a result, but values that
    contradict each other.
    """
    try:
        yield
    except _SENSELESS as error:
        names = " and ".join(map(str, results))
        words = f"{type(error).__name__}: {error}".partition("\n")[0].rstrip(": ")
        # If nobody has edited the file, this is a fault of ours, which this line helps to find.
        *_, last = traceback.extract_tb(error.__traceback__)
        raise UsageError(
            f"{names}: the values contradict each other ({words}, in {Path(last.filename).name}, "
            f"line {last.lineno}); measure again, or where nobody has edited it, report this as a "
            "fault of tinygram, with the file"
        ) from error


def _check_histograms(file: Path, result: Result) -> None:
    for run in result.runs:
        for name, text in run.histograms.items():
            try:
                Histogram.from_base64(text)
            except ValueError as error:
                raise UsageError(
                    f"{file} is damaged: {name} of {run.case_id} in round {run.round} is no "
                    f"histogram ({error}); measure again"
                ) from error
