"""What HTTP servers gain or lose on the drop-in event loop. Part of `make bench-real`.

uvicorn and hypercorn run as users run them, on one core; wrk, on the other, asks them over
connections that stay. In every round all pairs run in a random order, a pair's two runs one after
the other, each a fresh server. Writes are counted by strace, in runs of their own. Arguments name
the rows to measure.
"""

from __future__ import annotations

import os
import platform
import random
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
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median

from pairs import SEED, shown

from tinygram.bench.network import private_network
from tinygram.bench.placement import default_placement, placement
from tinygram.bench.statistics.intervals import figure_of
from tinygram.bench.statistics.verdicts import judge

_ROUNDS = 7
_WARM_UP_S = 0.3
_MEASURED_S = 1
_START_S = 20
_BASES = ("asyncio", "uvloop")
_DEFAULT_CONGESTION_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_CONGESTION_CONTROL = "reno"
_HERE = Path(__file__).parent
_WRITE = re.compile(r"(?:write|writev|sendto|sendmsg|sendmmsg)\(\d+<TCP\S*\[.*\) = [1-9]\d*$")
_RATE = re.compile(r"^Requests/sec:\s+([\d.]+)$", re.M)
_ALL = re.compile(r"^\s*(\d+) requests in ", re.M)


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
        if not self.http:
            return [*python, "sides.asgi", loop, str(port)]
        return [
            *(*python, "uvicorn", "sides.asgi:application", "--loop", f"sides.asgi:{loop}"),
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


@dataclass
class Row:
    """A server on a base loop, and on ours over it."""

    asked: Asked
    base: str
    pairs: list[tuple[float, float]] = field(default_factory=list)
    """Responses per second, (base, ours) of each round."""
    writes: tuple[float | None, float | None] = (None, None)
    """Per response."""

    @property
    def loops(self) -> tuple[str, str]:
        return f"stock_{self.base}", f"tinygram_{self.base}"


def main() -> int:
    chosen = sys.argv[1:] or list(ROWS)
    if unknown := set(chosen) - set(ROWS):
        sys.exit(f"unknown: {', '.join(unknown)}; the known ones are {', '.join(ROWS)}")
    rows = [Row(ROWS[name], base) for name in chosen for base in _BASES]
    cpus = placement(default_placement())
    assert cpus.sender_cpu is not None
    assert cpus.receiver_cpu is not None
    with private_network() as network, network.entered():
        if network.is_private:
            _DEFAULT_CONGESTION_CONTROL.write_text(_CONGESTION_CONTROL)
        packages = ("uvicorn", "h11", "httptools", "hypercorn", "uvloop")
        print(
            f"Linux {platform.release()}, Python {platform.python_version()}, "
            f"{', '.join(f'{name} {version(name)}' for name in packages)}; {_ROUNDS} rounds; "
            f"congestion control {_DEFAULT_CONGESTION_CONTROL.read_text().strip()}.\n",
            flush=True,
        )
        bench = _Bench(cpus.sender_cpu, cpus.receiver_cpu)
        order = random.Random(SEED)
        for round in range(_ROUNDS + 1):
            print(f"round {round} of {_ROUNDS}", file=sys.stderr)
            for row in order.sample(rows, len(rows)):
                loops = row.loops if round % 2 else row.loops[::-1]
                rates = {loop: bench.rate_per_s(row.asked, loop) for loop in loops}
                if round:  # the first fills caches
                    row.pairs.append((rates[row.loops[0]], rates[row.loops[1]]))
        if shutil.which("strace") is not None:
            for row in rows:
                base, ours = (bench.writes_per_response(row.asked, loop) for loop in row.loops)
                row.writes = base, ours
    _print_table(rows)
    return 0


class _Bench:
    """Servers on one core, the client on another."""

    def __init__(self, server_cpu: int, client_cpu: int) -> None:
        self._server_cpu = server_cpu
        self._client_cpu = client_cpu

    def rate_per_s(self, asked: Asked, loop: str) -> float:
        with self._served(asked, loop) as port:
            self._ask(asked, port, _WARM_UP_S)
            return self._ask(asked, port, _MEASURED_S)[0]

    def writes_per_response(self, asked: Asked, loop: str) -> float:
        with tempfile.NamedTemporaryFile("r", errors="replace") as trace:
            # With -D the server is our child, which takes our signals, and strace ends after it.
            calls = "trace=write,writev,sendto,sendmsg,sendmmsg"
            tracer = ("strace", "-D", "-f", "-yy", "-s32", "-o", trace.name, "-e", calls)
            with self._served(asked, loop, tracer) as port:
                responses = self._ask(asked, port, _MEASURED_S)[1]
            lines = trace.read().splitlines()
        writes = sum(1 for line in lines if _WRITE.search(line))
        return writes / responses

    def _ask(self, asked: Asked, port: int, seconds: float) -> tuple[float, int]:
        """Responses per second, and in all; wrk counts whole seconds."""
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
        rate, count = _RATE.search(done.stdout), _ALL.search(done.stdout)
        if rate is None or count is None or "Non-2xx" in done.stdout or "errors" in done.stdout:
            sys.exit(f"wrk on {asked.what} failed:\n{done.stdout}{done.stderr}")
        return float(rate[1]), int(count[1])

    @contextmanager
    def _served(self, asked: Asked, loop: str, tracer: tuple[str, ...] = ()) -> Iterator[int]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = subprocess.Popen(
            [*tracer, *asked.command(loop, port)],
            cwd=_HERE,
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


def _print_table(rows: list[Row]) -> None:
    print("| server | base loop | responses/s, base | ours ÷ base | writes/response, base → ours |")
    print("|---|---|--:|--:|--:|")
    for row in rows:
        writes = " → ".join("-" if each is None else f"{each:.2f}" for each in row.writes)
        ratio = figure_of([ours / base for base, ours in row.pairs])
        cells = (
            row.asked.what,
            row.base,
            f"{median(base for base, _ in row.pairs):,.0f}",
            shown(ratio),
            writes,
        )
        print(f"| {' | '.join(cells)} |")
    print()
    for row in rows:
        ratio = figure_of([ours / base for base, ours in row.pairs])
        verdict = judge(ratio, "messages_per_s").replace("_", " ")
        print(f"- {row.asked.what}, on {row.base}: {verdict}.")


if __name__ == "__main__":
    sys.exit(main())
