"""What a client's processes use together: memory, files that they have left in it, connections."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from tests.hosts.far_server import LIMITS

from tinygram_bench.far import usage
from tinygram_bench.far.guest import Guest, _Process
from tinygram_bench.far.programs import PROGRAMS, Here
from tinygram_bench.far.usage import OTHER_FDS, InUse, used_by
from tinygram_bench.host.network.connections import Known

MIB = 1 << 20
LARGE_BYTES = 64 * MIB
PIPES = 200
WITH_A_CHILD = f"""
import os, sys
pipes = [os.pipe() for _ in range({PIPES})]
held = bytearray(b"x") * {LARGE_BYTES}
if os.fork() == 0:
    held = bytearray(b"y") * {LARGE_BYTES}
    print(flush=True)
sys.stdin.read()
"""
"""It has memory and descriptors, and a child that has as many more."""


@contextmanager
def running(program: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own session that has said that it is ready; it ends with its input."""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        yield process


@pytest.mark.parametrize("tells_children", [usage._TELLS_CHILDREN, False])
def test_what_a_process_has_started_uses_counts_with_it(
    tells_children: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "_TELLS_CHILDREN", tells_children)
    with running(WITH_A_CHILD) as process:
        found = used_by([process.pid])
    assert 2 * LARGE_BYTES < found.memory_bytes < 4 * LARGE_BYTES
    of_both = 2 * (2 * PIPES - OTHER_FDS)
    assert of_both <= found.connections < of_both + OTHER_FDS


def test_all_processes_are_added_up_and_one_that_has_ended_uses_nothing() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert used_by([ended.pid]) == InUse(0, 0)
    ended.wait()
    assert used_by([ended.pid]) == used_by([]) == InUse(0, 0)
    with running(WITH_A_CHILD) as first, running(WITH_A_CHILD) as second:
        both = used_by([first.pid, second.pid, ended.pid])
    assert both.memory_bytes > 4 * LARGE_BYTES


async def _used_with(files: tuple[int, ...], output_bytes: int) -> InUse:
    """What a client uses whose one process has ended, and has left these."""
    none: Any = None
    child: Any = SimpleNamespace(worker=SimpleNamespace(pid=0, output_bytes=output_bytes))
    ended = asyncio.Event()
    ended.set()
    here = Here("127.0.0.1", Known(), files, max_connections=1)
    guest = Guest(none, none, "", "", LIMITS, none, b"")
    guest._processes[0] = _Process(child, PROGRAMS[0], here, ExitStack(), ended)
    return guest.used()


def test_files_that_a_process_has_left_in_memory_are_its_clients() -> None:
    fds = tuple(os.memfd_create("left") for _ in range(2))
    try:
        for fd in fds:
            os.write(fd, bytes(MIB))
        assert asyncio.run(_used_with(fds, 100)) == InUse(2 * MIB + 100, 0)
    finally:
        for fd in fds:
            os.close(fd)
