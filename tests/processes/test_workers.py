"""A worker that fails is named with its reason, and none outlives its block."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.waiting import wait_until

from tinygram_bench.processes import workers
from tinygram_bench.processes.workers import RunError, Worker

LONGEST_S = 60.0


def shell(role: str, script: str) -> Worker:
    return Worker(role, ["sh", "-c", script])


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # What has ended and is not yet waited for by its new parent is no process any more.
    return stat.rpartition(")")[2].split()[0] != "Z"


def printed_pids(worker: Worker, count: int) -> list[int]:
    wait_until(lambda: worker.output.count(b"\n") >= count, LONGEST_S, "the pids are printed")
    return [int(line) for line in worker.output.split()]


@pytest.mark.parametrize(
    ("script", "failure"),
    [
        ("kill -KILL $$", "the sender was killed by SIGKILL"),
        ("kill -SEGV $$", "the sender was killed by SIGSEGV"),
        ("kill -TERM $$", "the sender was killed by SIGTERM"),
        (
            "echo first >&2; echo ' the reason ' >&2; exit 3",
            "the sender failed with status 3: the reason",
        ),
        ("exit 4", "the sender failed with status 4"),
        ("exit 0", None),
    ],
)
def test_a_worker_that_failed_is_named_with_its_signal_or_status_and_its_last_words(
    script: str, failure: str | None
) -> None:
    with shell("sender", script) as worker:
        assert worker.wait_ended(LONGEST_S)
        assert worker.failure == failure


def test_a_worker_that_never_ends_is_waited_for_no_longer() -> None:
    with shell("sender", "sleep 1000") as worker:
        assert not worker.wait_ended(0.2)
        assert worker.failure is None


@pytest.mark.parametrize(
    "line", ["nonsense", "listening", "listening 123456", "listening 65536", "listening 80 yes", ""]
)
def test_a_worker_that_prints_nonsense_in_place_of_its_port_is_shown(line: str) -> None:
    said = re.escape(f"the receiver printed {line!r}, not `listening PORT`")
    with (
        shell("receiver", f"echo '{line}'; sleep 1000") as worker,
        pytest.raises(RunError, match=f"^{said}$"),
    ):
        worker.wait_listening(LONGEST_S)


def test_a_worker_that_says_where_it_listens_is_believed() -> None:
    with shell("receiver", "echo listening 65535; sleep 1000") as worker:
        assert worker.wait_listening(LONGEST_S) == 65_535


def test_a_worker_that_never_listens_is_named_when_the_time_has_passed() -> None:
    with (
        shell("receiver", "sleep 1000") as worker,
        pytest.raises(RunError, match=r"did not print `listening PORT` in 0\.1 s$"),
    ):
        worker.wait_listening(0.1)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("true", "ended before it listened"),
        ("echo why >&2; exit 1", "failed with status 1: why"),
        ("kill -KILL $$", "was killed by SIGKILL"),
    ],
)
def test_a_worker_that_ends_before_it_listens_says_why(script: str, said: str) -> None:
    with (
        shell("receiver", script) as worker,
        pytest.raises(RunError, match=f"^the receiver {said}$"),
    ):
        worker.wait_listening(LONGEST_S)


def test_a_worker_that_cannot_start_leaves_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(RunError, match="the receiver did not start"):
        Worker("receiver", ["/nowhere/to/be/found"])
    create = os.memfd_create

    def once(name: str) -> int:
        if name.endswith("stderr"):
            raise OSError(errno.EMFILE, "Too many open files")
        return create(name)

    monkeypatch.setattr(os, "memfd_create", once)
    with pytest.raises(RunError, match=r"the receiver did not start: .*Too many open files"):
        Worker("receiver", ["true"])
    assert os.listdir("/proc/self/fd") == before


def reaches_others_alone(_group: int, _signal: int) -> None:
    """A process of the group may be signalled, and its leader may not."""


def reaches_nobody(_group: int, _signal: int) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize("killpg", [reaches_others_alone, reaches_nobody])
def test_a_worker_that_may_not_be_ended_is_told_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, killpg: Callable[[int, int], None]
) -> None:
    monkeypatch.setattr(workers, "_KILLED_S", 0.1)
    worker = Worker("server", ["sleep", "60"])
    with monkeypatch.context() as patched:
        patched.setattr(os, "killpg", killpg)
        with pytest.raises(RunError, match=r"the server \(process [0-9]+\) cannot be ended"):
            worker.kill()
    with worker:
        pass


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(RunError, match=r"^the sender did not start: .*no-such-program"):
        Worker("sender", ["no-such-program"])


@pytest.mark.parametrize("end", ["wait", "true"], ids=["running", "ended before"])
def test_a_worker_and_its_children_are_gone_after_the_block(end: str) -> None:
    with shell("sender", f"echo $$; sleep 1000 & echo $!; {end}") as worker:
        pids = printed_pids(worker, 2)
        assert is_alive(pids[1])
        if end == "true":
            assert worker.wait_ended(LONGEST_S)
    wait_until(lambda: not any(map(is_alive, pids)), LONGEST_S, "the worker and its child are gone")


def test_workers_are_gone_after_a_block_that_failed() -> None:
    pids: list[int] = []

    def fail() -> None:
        with shell("sender", "echo $$; sleep 1000") as worker:
            pids.extend(printed_pids(worker, 1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not is_alive(pids[0])
