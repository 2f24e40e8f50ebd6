"""A link that stands still is noticed, whatever was on the way, and a device that goes is named."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Command
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("links_permitted")

APPEARS_S = 60.0
WAY = ("--only", "runtime=loop,implementation=stdlib,strategy=nodelay", "--rounds", 1)


def relay_pid(command: Command) -> int:
    """The command's process that has the relay's thread, while a run is under way."""
    found: list[int] = []

    def is_there() -> bool:
        processes = command.processes()
        found[:] = [pid for pid in processes if has_relay(pid)]
        return len(found) == 1 and "tg-sender" in processes.values()

    wait_until(is_there, APPEARS_S, "a run over a relay")
    return found[0]


def has_relay(pid: int) -> bool:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return any((task / "comm").read_text().strip() == "tg-relay" for task in tasks)
    except (FileNotFoundError, ProcessLookupError):
        return False  # It has ended since it was listed.


def only_run(command: Command, process: subprocess.Popen[str]) -> Any:
    done = command.finish(process)
    assert done.result is not None, done.stderr
    [run] = done.runs
    return run


@pytest.mark.parametrize(("link", "stop_ms"), [("rtt=1ms", 300), ("rtt=20ms", 500)])
def test_a_stopped_relay_is_noticed_and_bars_every_figure(
    command: Command, link: str, stop_ms: int
) -> None:
    process = command.start(*WAY, "--link", link, "--rate", 1_000, "--duration", "4s")
    pid = relay_pid(command)
    os.kill(pid, signal.SIGSTOP)
    # The fault itself.
    time.sleep(stop_ms / 1e3)
    os.kill(pid, signal.SIGCONT)
    run = only_run(command, process)
    assert run["failure"] is None
    [warning] = [each for each in run["warnings"] if each["code"] == "link_stopped"]
    assert warning["figures"] == [""]
    counters = run["counters"]
    assert counters["link_relay_stops"] >= 1
    assert counters["link_relay_stopped_ns"] >= (stop_ms - 100) * 1_000_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set", "down"), "the link's device tg-near is down"),
        (("delete",), "the link's device tg-near was deleted"),
    ],
)
def test_a_device_that_goes_while_a_run_goes_on_is_named(
    command: Command, words: tuple[str, ...], said: str
) -> None:
    process = command.start(
        *(*WAY, "--link", "rtt=1ms", "--rate", 1_000, "--duration", "3s", "--timeout", "8s")
    )
    relay_pid(command)
    sender = command.wait_process("tg-sender")
    verb, *rest = words
    on_device = ["ip", "link", verb, "dev", "tg-near", *rest]
    # An ordinary user's namespace is that of a user namespace.
    as_its_root = ["--user", "--preserve-credentials"] if os.geteuid() else []
    inside = ["nsenter", "--target", str(sender), "--net", *as_its_root]
    subprocess.run([*inside, *on_device], check=True, timeout=60)
    run = only_run(command, process)
    assert run["failure"].startswith(said)
