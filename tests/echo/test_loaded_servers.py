"""A server of ours has imported what it uses before it freezes what there is, and serves.

What is imported later is looked at by each full collection, in the server's own time.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tinygram_bench.host.network.settings import permitted_congestion_control
from tinygram_bench.workloads.echo.servers import SERVERS, Server

# It does what the server's process does, up to where that accepts connections.
PROGRAM = """
import os
import sys

import tinygram
from tinygram_bench.workloads.echo.order import PER_READ, ServerOrder
from tinygram_bench.workloads.echo.servers import server
from tinygram_bench.workloads.echo.servers.service import Service


def tell():
    print(*sorted({*sys.modules} - loaded), flush=True)
    os._exit(0)


def announce(port):
    if runtime in ("asyncio", "uvloop"):
        sys.modules["asyncio"].get_running_loop().call_soon(tell)
    else:
        tell()


runtime, implementation, name, control = sys.argv[1:]
order = ServerOrder(
    runtime, implementation, name, tinygram.nodelay, PER_READ, 100, 4096, None, 1, control
)
service = Service(order, announce)
serve = server(runtime, implementation, name).load()
loaded = {*sys.modules}
serve(service)
"""


@pytest.mark.parametrize(
    "server", SERVERS, ids=lambda it: f"{it.runtime}/{it.implementation}/{it.name}"
)
def test_it_imports_nothing_once_it_is_loaded(server: Server) -> None:
    absent = server.missing()
    if absent is not None:
        pytest.skip(absent)
    names = (server.runtime, server.implementation, server.name)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names, permitted_congestion_control(None)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == []
