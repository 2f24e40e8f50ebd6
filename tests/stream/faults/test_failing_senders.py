"""A connection or a source that fails ends the sending, in every runtime, and nothing hangs."""

from __future__ import annotations

import subprocess
import sys
import threading
from itertools import product
from pathlib import Path

import pytest
from tests.stream.programs.failing_sender import (
    BREAKS,
    RESET_AT_THE_END,
    RESETS,
    BrokenSourceError,
    attempt,
)

LONGEST_S = 60.0
IN_PROCESS = ["loop", "threads", "asyncio", "uvloop"]
HELD_TO_THE_END = "coalesce:600s"
STRATEGIES = ["nodelay", "coalesce:10ms", HELD_TO_THE_END]
LIBRARY = ["loop/tinygram", "asyncio/tinygram", "uvloop/tinygram"]
WITHOUT_A_QUEUE = [
    ("asyncio", "tick"),
    ("uvloop", "tick"),
    ("asyncio/aiofastnet", "nodelay"),
    ("uvloop/aiofastnet", "nodelay"),
    *product(LIBRARY, ["tick", "coalesce:10ms", "competitive:10ms", "adaptive"]),
]
ROOT = Path(__file__).parents[3]


def failure_of(runtime: str, strategy: str, fault: str) -> BaseException | None:
    """What the runtime raises; None where it says that all went well. A hang fails the test."""
    for package in {"uvloop", "aiofastnet"}.intersection(runtime.split("/")):
        pytest.importorskip(package)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            attempt(runtime, strategy, fault)
        except BaseException as failure:  # noqa: BLE001 - it is what the test is about
            failures.append(failure)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LONGEST_S)
    assert not thread.is_alive(), f"{runtime} hangs"
    failure = failures[0] if failures else None
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure


def last_words_of_processes(strategy: str, fault: str) -> str:
    """The last line on stderr of a process that must have failed."""
    done = subprocess.run(
        [
            *(sys.executable, "-B", "-m", "tests.stream.programs.failing_sender"),
            *("processes", strategy, fault),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("fault", RESETS)
@pytest.mark.parametrize(
    ("runtime", "strategy"), [*product(IN_PROCESS, STRATEGIES), *WITHOUT_A_QUEUE]
)
def test_a_connection_that_was_reset_is_raised(runtime: str, strategy: str, fault: str) -> None:
    assert isinstance(failure_of(runtime, strategy, fault), OSError)


@pytest.mark.parametrize("runtime", [*IN_PROCESS, *LIBRARY])
def test_a_reset_that_only_the_last_batch_meets_after_the_end_is_raised(runtime: str) -> None:
    failure = failure_of(runtime, HELD_TO_THE_END, RESET_AT_THE_END)
    assert isinstance(failure, OSError)


@pytest.mark.parametrize(
    ("runtime", "strategy", "fault"),
    [
        *product(IN_PROCESS[1:], STRATEGIES[:2], BREAKS),
        # A sender that is blocked without a queue asks no source.
        *((*way, BREAKS[0]) for way in product(["loop"], STRATEGIES[:2])),
        *((*way, BREAKS[0]) for way in WITHOUT_A_QUEUE),
    ],
)
def test_a_source_that_breaks_in_the_middle_is_raised(
    runtime: str, strategy: str, fault: str
) -> None:
    assert isinstance(failure_of(runtime, strategy, fault), BrokenSourceError)


@pytest.mark.parametrize(
    ("strategy", "fault"),
    [
        *product(STRATEGIES, RESETS),
        # With the others all may be sent before the end: then nothing meets the reset.
        (HELD_TO_THE_END, RESET_AT_THE_END),
    ],
)
def test_a_reset_ends_the_sending_process_and_the_one_that_feeds_it(
    strategy: str, fault: str
) -> None:
    last_words = last_words_of_processes(strategy, fault)
    assert last_words.startswith(("ConnectionResetError", "BrokenPipeError"))


@pytest.mark.parametrize("fault", BREAKS)
@pytest.mark.parametrize("strategy", STRATEGIES[:2])
def test_a_source_that_breaks_ends_the_sending_process_too(strategy: str, fault: str) -> None:
    assert last_words_of_processes(strategy, fault).endswith("BrokenSourceError: the source broke")
