"""Hosts and users with little memory: every workload runs in an address space of a gigabyte.

A run broke with MemoryError there: each read of a child's output had a buffer of 1 GiB, and the
stacks and heaps of a hundred threads that call took the rest.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.support.command import Command

from tinygram_bench.processes.workers import contents

LIMITED = ("sh", "-c", 'ulimit -v 1000000 && exec "$@"', "sh")

QUICK = {
    "stream": ("--messages", 2_000, "--only", "runtime=loop,strategy=nagle"),
    "rr": (*("--callers", "2x100", "--calls", 2, "--warm-up", 1, "--strategy", "nodelay"),
           *("--sends-per-request", 1, "--runtime", "threads", "--runtime", "native")),
    "echo": ("--size", 1_000, "--duration", "100ms", "--only", "asyncio/protocol"),
    "sizes": ("--sizes", "1000", "--round-trips", 1),
}  # fmt: skip


@pytest.mark.parametrize("command", QUICK, indirect=True)
def test_every_workload_runs_in_a_gigabyte(
    command: Command, request: pytest.FixtureRequest
) -> None:
    command.through = LIMITED
    workload = request.node.callspec.params["command"]
    done = command.run(*QUICK[workload], "--rounds", 1, "--pin", "none")
    assert [run["failure"] for run in done.runs if run["failure"]] == [], done.stderr
    assert done.code == 0, done.stderr


def test_a_file_is_read_without_more_memory_than_it_has() -> None:
    """A process that may allocate 256 MiB reads a file of one."""
    program = (
        "import os, resource\n"
        "from tinygram_bench.processes.workers import contents\n"
        "fd = os.memfd_create('file'); os.write(fd, bytes(1 << 20))\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))\n"
        "print(len(contents(fd)))\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.strip() == str(1 << 20), found.stderr


def test_a_file_that_grows_is_read_to_its_end() -> None:
    fd = os.memfd_create("file")
    try:
        os.write(fd, b"first")
        assert contents(fd) == b"first"
        os.write(fd, b", then")
        assert contents(fd) == b"first, then"
    finally:
        os.close(fd)
