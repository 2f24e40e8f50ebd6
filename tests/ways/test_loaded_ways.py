"""A way on an event loop has imported what it uses before its sender freezes what there is.

What is imported later is looked at by each full collection, while messages are sent.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tinygram_bench.ways.runtimes import ON_MANY, RUNTIMES, Runtime

# It makes the loop and a connection as the way does, and tells which modules that imported.
PROGRAM = """
import asyncio
import socket
import sys

import tinygram
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.ways.runtimes import ON_MANY, RUNTIMES


async def write(sock):
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(asyncio.Protocol, sock=sock)
    transport.write(b"message")
    transport.close()
    await asyncio.sleep(0)


row = (*RUNTIMES, *ON_MANY)[int(sys.argv[1])]
row.load()
loaded = {*sys.modules}
ours, peer = socket.socketpair()
strategy = tinygram.adaptive if row.implementation == "tinygram" else None
with peer, asyncio.Runner(loop_factory=loop_factory(row.name, strategy)) as runner:
    runner.run(write(ours))
print(*sorted({*sys.modules} - loaded))
"""
ON_LOOPS = [
    (number, row)
    for number, row in enumerate((*RUNTIMES, *ON_MANY))
    if row.name in ("asyncio", "uvloop")
]


@pytest.mark.parametrize(
    ("number", "row"), ON_LOOPS, ids=[f"{row.name}/{row.module}" for _, row in ON_LOOPS]
)
def test_it_imports_nothing_once_it_is_loaded(number: int, row: Runtime) -> None:
    absent = row.missing()
    if absent is not None:
        pytest.skip(absent)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(number)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr
