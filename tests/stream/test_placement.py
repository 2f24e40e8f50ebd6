"""Every thread and process of a side stays on the core that the result names."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.command import Command
from tests.support.waiting import wait_until

from tinygram_bench.host import placement as placement_module
from tinygram_bench.host.placement import Placement, placement
from tinygram_bench.model.errors import UsageError

ALLOWED = sorted(os.sched_getaffinity(0))
# It is looked at as long as that takes, and then interrupted.
LONG_RUN = ("--rate", 1_000, "--duration", "60s")


def cores_of(pid: int) -> list[set[int]]:
    """The cores that each thread of a process may use."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        [listed] = [line.split()[1] for line in lines if line.startswith("Cpus_allowed_list:")]
        ranges = [[int(end) for end in part.split("-")] for part in listed.split(",")]
        found.append({core for ends in ranges for core in range(ends[0], ends[-1] + 1)})
    return found


@pytest.mark.parametrize(
    ("pin", "cores"),
    [
        ("apart", lambda sender, receiver: sender != receiver),
        ("same", lambda sender, receiver: sender == receiver),
    ],
    ids=["apart", "same"],
)
@pytest.mark.parametrize(("runtime", "senders"), [("threads", 1), ("processes", 2), ("uvloop", 1)])
def test_a_side_stays_on_its_core(
    command: Command, pin: str, cores: Callable[[int, int], bool], runtime: str, senders: int
) -> None:
    if pin == "apart" and len(ALLOWED) < 2:
        pytest.skip("two cores are needed")
    process = command.start(
        *("--only", f"runtime={runtime},implementation=stdlib,strategy=nodelay"),
        *("--rounds", 1, "--pin", pin, *LONG_RUN),
    )
    roles: dict[str, list[int]] = {}

    def are_at_work() -> bool:
        roles.clear()
        for pid, name in command.processes().items():
            roles.setdefault(name, []).append(pid)
        has_threads = runtime != "threads" or any(
            len(list(Path(f"/proc/{pid}/task").iterdir())) > 1 for pid in roles.get("tg-sender", [])
        )
        pinned = [len(cores) == 1 for pid in roles.get("tg-sender", []) for cores in cores_of(pid)]
        # It is named before it is pinned.
        return len(roles.get("tg-sender", [])) == senders and has_threads and all(pinned)

    wait_until(are_at_work, 60.0, lambda: f"the sender's side is at work: {roles}")
    sender_cores = [core for pid in roles["tg-sender"] for core in cores_of(pid)]
    [receiver_cores] = cores_of(*roles["tg-receiver"])
    process.send_signal(signal.SIGINT)
    assert command.finish(process).code == 130
    assert sender_cores == [{ALLOWED[0]}] * len(sender_cores)
    [receiver] = receiver_cores
    assert cores(ALLOWED[0], receiver)


@pytest.mark.parametrize("pin", ["same", "none"])
def test_the_cores_are_in_the_result(command: Command, pin: str) -> None:
    done = command.run(
        *("--only", "runtime=loop,implementation=stdlib,strategy=nodelay"),
        *("--rounds", 1, "--pin", pin, "--messages", 1_000),
    )
    core = ALLOWED[0] if pin == "same" else None
    environment = done.result["environment"]
    assert (environment["sender_core"], environment["receiver_core"]) == (core, core)


def test_unpinned_a_side_may_go_where_the_bench_may(command: Command) -> None:
    process = command.start(
        *("--only", "runtime=loop,implementation=stdlib,strategy=nodelay"),
        *("--rounds", 1, "--pin", "none", *LONG_RUN),
    )
    sender = command.wait_process("tg-sender")
    receiver = command.wait_process("tg-receiver")
    found = cores_of(sender) + cores_of(receiver)
    process.send_signal(signal.SIGINT)
    assert command.finish(process).code == 130
    assert found == [set(ALLOWED)] * len(found)


def siblings(folder: Path, listed: str) -> Callable[[str], Path]:
    """Stands for Path: every core's list of siblings says `listed`."""
    (folder / "list").write_text(listed)
    return lambda _path: folder / "list"


@pytest.mark.parametrize(
    ("listed", "receiver"), [("0", 1), ("0-1", 2), ("0,2", 1), ("0-3", 1), ("what", 1)]
)
def test_apart_is_another_physical_core_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, listed: str, receiver: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2, 3})
    monkeypatch.setattr(placement_module, "Path", siblings(tmp_path, listed))
    assert placement("apart") == Placement(0, receiver)


def test_one_core_is_not_enough_to_be_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3})
    assert placement_module.default_placement() == "same"
    assert placement("same") == Placement(3, 3)
    with pytest.raises(UsageError, match=r"--pin apart needs two cores.*--pin same"):
        placement("apart")
