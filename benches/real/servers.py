"""What HTTP servers gain or lose on the drop-in event loop. Part of `make bench-real`.

uvicorn and hypercorn run as users run them, on one core; wrk, on the other, asks them over
connections that stay. In every round all pairs run in a random order, a pair's two runs one after
the other, each a fresh server. Writes are counted by strace, in runs of their own. Arguments name
the rows to measure.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from published.stored import Column, figure, put
from published.stored import Row as Shown
from published.tables import markdown
from real.rounds import (
    BASES,
    CALLS_THAT_WRITE,
    WRITE,
    Row,
    chosen,
    counted,
    measure_in_pairs,
    print_conditions,
    table_of,
    two_cores,
    verdict_on,
)

from tinygram_bench.host.network import private_network
from tinygram_bench.model.result import Figure
from tinygram_bench.statistics.figures.intervals import figure_of

_WARM_UP_S = 0.3
_MEASURED_S = 1
_START_S = 20
_BENCHES = Path(__file__).parents[1]
_RATE = re.compile(r"^Requests/sec:\s+([\d.]+)$", re.M)
_HEAD = '"HTTP/1.1 200'
_PACKAGES = ("uvicorn", "h11", "httptools", "hypercorn", "uvloop")
_COLUMNS = (
    Column("base loop", "base", is_text=True),
    Column("responses/s, base", "rate_per_s", 0),
    Column("ours ÷ base", "ratio", 3),
    Column("writes/response, base → ours", "writes", 2, " → "),
)


@dataclass(frozen=True)
class Asked:
    """A server, what it is asked for, and over how many connections."""

    what: str
    path: str
    connections: int
    http: str = ""
    workers: int = 1

    def command(self, loop: str, port: int) -> list[str]:
        python = [sys.executable, "-m"]
        factory = loop.replace("-", "_")
        if not self.http:
            return [*python, "real.asgi", factory, str(port)]
        return [
            *(*python, "uvicorn", "real.asgi:application", "--loop", f"real.asgi:{factory}"),
            *("--http", self.http, "--port", str(port), "--workers", str(self.workers)),
            *("--no-access-log", "--log-level", "warning", "--lifespan", "off"),
        ]


ROWS = {
    "uvicorn-h11-chunks": Asked("uvicorn, h11: a response in 20 chunks", "/chunks", 20, "h11"),
    "uvicorn-httptools-chunks": Asked(
        "uvicorn, httptools: a response in 20 chunks", "/chunks", 20, "httptools"
    ),
    "uvicorn-h11-plain": Asked("uvicorn, h11: a plain response", "/", 20, "h11"),
    "uvicorn-httptools-plain": Asked("uvicorn, httptools: a plain response", "/", 20, "httptools"),
    "uvicorn-workers": Asked(
        "uvicorn `--workers 2`, httptools: a response in 20 chunks, one connection",
        *("/chunks", 1, "httptools", 2),
    ),
    "hypercorn-chunks": Asked("hypercorn, h11: a response in 20 chunks", "/chunks", 20),
}


def main() -> int:
    names, into = chosen(ROWS)
    rows = [Row[float](name, base) for name in names for base in BASES]
    server_cpu, client_cpu = two_cores()
    with private_network() as network, network.entered():
        print_conditions(network, _PACKAGES)
        bench = _Bench(server_cpu, client_cpu)
        measure_in_pairs(rows, lambda name, loop: bench.rate_per_s(ROWS[name], loop))
        if shutil.which("strace") is not None:
            for row in rows:
                base, ours = (bench.writes_per_response(ROWS[row.name], each) for each in row.loops)
                row.counted = base, ours
    _tell(rows, into)
    return 0


class _Bench:
    """Servers on one core, the client on another."""

    def __init__(self, server_cpu: int, client_cpu: int) -> None:
        self._server_cpu = server_cpu
        self._client_cpu = client_cpu

    def rate_per_s(self, asked: Asked, loop: str) -> float:
        with self._served(asked, loop) as port:
            self._ask(asked, port, _WARM_UP_S)
            return self._ask(asked, port, _MEASURED_S)

    def writes_per_response(self, asked: Asked, loop: str) -> float:
        with tempfile.NamedTemporaryFile("r", errors="replace") as trace:
            # With -D the server is our child, which takes our signals, and strace ends after it.
            tracer = ("strace", "-D", "-f", "-yy", "-s32", "-o", trace.name, "-e", CALLS_THAT_WRITE)
            with self._served(asked, loop, tracer) as port:
                self._ask(asked, port, _MEASURED_S)
            writes = [line for line in trace.read().splitlines() if WRITE.search(line)]
        # Each response begins a write, as none is asked for before the last one has come. Those of
        # the readiness probe and of a client that leaves are in both counts.
        return len(writes) / sum(_HEAD in line for line in writes)

    def _ask(self, asked: Asked, port: int, seconds: float) -> float:
        """Responses per second; wrk counts whole seconds."""
        duration_s = max(1, round(seconds))
        command = ["wrk", "-t1", f"-c{asked.connections}", f"-d{duration_s}s"]
        if seconds < 1:
            # A warm-up may be cut short.
            command = ["timeout", "-s", "INT", str(seconds), *command]
        done = subprocess.run(
            [*command, f"http://127.0.0.1:{port}{asked.path}"],
            capture_output=True,
            text=True,
            timeout=_START_S,
            check=False,
            preexec_fn=lambda: os.sched_setaffinity(0, {self._client_cpu}),
        )
        rate = _RATE.search(done.stdout)
        if rate is None or "Non-2xx" in done.stdout or "errors" in done.stdout:
            sys.exit(f"wrk on {asked.what} failed:\n{done.stdout}{done.stderr}")
        return float(rate[1])

    @contextmanager
    def _served(self, asked: Asked, loop: str, tracer: tuple[str, ...] = ()) -> Iterator[int]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = subprocess.Popen(
            [*tracer, *asked.command(loop, port)],
            cwd=_BENCHES,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: os.sched_setaffinity(0, {self._server_cpu}),
        )
        try:
            self._wait_ready(asked, server, port)
            yield port
        finally:
            server.send_signal(signal.SIGINT)
            try:
                server.communicate(timeout=_START_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.communicate()

    def _wait_ready(self, asked: Asked, server: subprocess.Popen[bytes], port: int) -> None:
        """Until it has answered once."""
        give_up_at = time.monotonic() + _START_S
        while time.monotonic() < give_up_at and server.poll() is None:
            if _answers(port):
                return
            time.sleep(0.01)
        server.kill()
        sys.exit(f"{asked.what} does not answer:\n{server.communicate()[1].decode()[-2000:]}")


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_START_S) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return sock.recv(1 << 16).startswith(b"HTTP/1.1 200")
    except OSError:
        return False  # It does not listen yet.


def _tell(rows: list[Row[float]], into: Path | None) -> None:
    told = [
        Shown(
            ROWS[row.name].what,
            {
                "base": row.base,
                "rate_per_s": median(base for base, _ in row.pairs),
                "ratio": figure(_ratio(row)),
                "writes": counted(row),
            },
        )
        for row in rows
    ]
    table = table_of("python -m real.servers", _PACKAGES, "server", _COLUMNS, told)
    print(markdown(table), end="\n\n")
    if into is not None:
        put(into, "servers", table)
    for row in rows:
        print(f"- {ROWS[row.name].what}, on {row.base}: {verdict_on(_ratio(row))}.")


def _ratio(row: Row[float]) -> Figure:
    return figure_of([ours / base for base, ours in row.pairs])


if __name__ == "__main__":
    sys.exit(main())
