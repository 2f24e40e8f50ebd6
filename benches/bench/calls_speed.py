"""The native caller costs no more than what it is set against, each on the same cores as we are.

- A connection for each request, one client thread: 0.95 times the calls of the same loop in C
  (connection_per_request.c), both against one native server.
- A ping-pong of 100 bytes on one connection: a median at most 1 µs above that of sockperf (Debian's
  package), each with its own server. Where sockperf is not installed, that cannot be said, and the
  status is 1.

Each side runs once per round, in random order. A target inside the interval of what was found is
neither reached nor missed: that cannot be said, and the status is 1.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pairs import (
    SEED,
    at_least,
    at_most,
    measured,
    show_environment,
    shown,
    side_by_side,
)
from published.stored import Asked, Column, Row, figure
from published.telling import asked_into, store, tell

from tinygram_bench._native import Histogram, proc_sockets
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.host.placement import default_placement, placement
from tinygram_bench.model.result import Run
from tinygram_bench.runs.bench import running
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr
from tinygram_bench.workloads.rr.run import Rr

_ROUNDS = 15
_CALLS = 8_000
_REQUEST_BYTES, _REPLY_BYTES = 100, 2
_ASKED = 0.95
_SOURCE = Path(__file__).with_name("connection_per_request.c")
_PING_BYTES = 100
_PING_S = 1
_ASKED_US = 1.0
_COLUMNS = (Column("ratio, or difference", "ratio", 2),)
_SYSTEM_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
"""The setting of congestion control that sockperf follows: it has no option for it."""
_SOCKPERF_P50 = re.compile(r"percentile +50\.0+ = +([0-9.]+)")
_LISTENS_WITHIN_S = 10


def main() -> int:
    into = asked_into(__doc__)
    with cores_awake():
        show_environment("cubic")
        rows = (_beside_sockperf(), _beside_c())
        return store(into, "bench.calls_speed", "calls", "row", _COLUMNS, rows)


def _beside_c() -> Row:
    with tempfile.TemporaryDirectory() as folder, _server(_REQUEST_BYTES, _REPLY_BYTES) as port:
        program = Path(folder) / "connection_per_request"
        subprocess.run(["cc", "-O2", "-o", program, _SOURCE], check=True)
        sides = {"ours": lambda: _ours_ns(port), "c": lambda: _c_ns(program, port)}
        costs = side_by_side(sides, _ROUNDS)
    pairs = zip(costs["c"], costs["ours"], strict=True)
    ratio = figure_of([c_ns / ours_ns for c_ns, ours_ns in pairs])
    what = "a connection for each request, one thread ÷ 60 lines of C"
    row = Row(what, {"ratio": figure(ratio)}, Asked(_ASKED), at_least(ratio, _ASKED))
    return tell(row, f"{shown(ratio)}, asked {_ASKED}")


def _beside_sockperf() -> Row:
    what, asked = f"ping-pong of {_PING_BYTES} B, p50 − sockperf's", Asked(None, _ASKED_US, "µs")
    if shutil.which("sockperf") is None:
        return tell(Row(what, {}, asked), "sockperf is not installed: apt-get install sockperf")
    control = _SYSTEM_CONTROL.read_text().strip()
    with _server(_PING_BYTES, _PING_BYTES, control) as ours, _sockperf_server() as theirs:
        sides = {
            "ours": lambda: _ours_p50_us(ours, control),
            "sockperf": lambda: _sockperf_p50_us(theirs),
        }
        p50_us = side_by_side(sides, _ROUNDS)
    more = figure_of([a - b for a, b in zip(p50_us["ours"], p50_us["sockperf"], strict=True)])
    found = f"{figure_of(p50_us['ours']).median:.2f} µs, {more.median:+.2f} µs"
    found += f" ({more.low:+.2f} to {more.high:+.2f}), asked at most +{_ASKED_US:g}; both {control}"
    row = Row(what, {"ratio": figure(more, "µs")}, asked, at_most(more, _ASKED_US))
    return tell(row, found)


@contextmanager
def _started(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A server on the receiver's core; it ends with the block."""
    process = subprocess.Popen(
        [*_pinned(placement(default_placement()).receiver_cpu), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def _server(request_bytes: int, reply_bytes: int, control: str = "cubic") -> Iterator[int]:
    """Run a native server of ours; yields its port."""
    words = [sys.executable, "-m", "tinygram_bench", "serve", "rr"]
    sizes = ["--request", str(request_bytes), "--reply", str(reply_bytes)]
    with _started([*words, *sizes, "--congestion-control", control]) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline().split()[1])


@contextmanager
def _sockperf_server() -> Iterator[int]:
    """Run a server of sockperf; yields its port, which was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    with _started(["sockperf", "server", "--tcp", "-i", "127.0.0.1", "-p", str(port)]) as process:
        give_up_s = time.monotonic() + _LISTENS_WITHIN_S
        # It does not flush what it says into a pipe; and trying to connect would be a client.
        while not proc_sockets("/proc/self/net", port)[1]:
            if process.poll() is not None or time.monotonic() > give_up_s:
                raise SystemExit(f"sockperf does not listen on port {port}")
            time.sleep(0.01)
        yield port


def _ours(
    port: int,
    connections: str,
    sizes: tuple[int, int],
    calls: int | None,
    control: str = "cubic",
) -> Run:
    """One native caller, calls that often or for as long as a ping-pong of sockperf."""
    request_bytes, reply_bytes = sizes
    options = RrOptions(
        runtimes=("native",),
        strategies=("nodelay",),
        connections=(connections,),
        sends_per_request=(1,),
        server_address=("127.0.0.1", port),
        request_bytes=request_bytes,
        reply_bytes=reply_bytes,
        processes=1,
        callers=1,
        warm_up_calls=100,
        calls=calls,
        duration_ns=_PING_S * 1_000_000_000,
        congestion_control=control,
        placement=default_placement(),
        rounds=1,
        seed=SEED,
    )
    (case,) = plan_rr(options).cases
    with running(Rr(SEED)) as bench:
        return bench.run_case(case, 0)


def _ours_ns(port: int) -> float:
    """Nanoseconds per call, of one native caller."""
    run = _ours(port, "per-request", (_REQUEST_BYTES, _REPLY_BYTES), _CALLS)
    counters = measured(run)
    return counters["callers_time_ns"] / counters["calls"]


def _c_ns(program: Path, port: int) -> float:
    """The same in C, on the same core."""
    words = [str(program), *map(str, (port, _CALLS, _REQUEST_BYTES, _REPLY_BYTES))]
    return int(_said_by(words)) / _CALLS


def _ours_p50_us(port: int, control: str) -> float:
    run = _ours(port, "per-caller", (_PING_BYTES, _PING_BYTES), None, control)
    measured(run)
    return Histogram.from_base64(run.histograms["call_ns"]).percentile_ns(50) / 1_000


def _sockperf_p50_us(port: int) -> float:
    """The full round trip, which sockperf halves unless told not to; TCP_NODELAY is its default."""
    told = ["--tcp", "-i", "127.0.0.1", "-p", str(port), "-m", str(_PING_BYTES)]
    said = _said_by(["sockperf", "ping-pong", *told, "-t", str(_PING_S), "--full-rtt"])
    found = _SOCKPERF_P50.search(said)
    if found is None:
        raise SystemExit(f"sockperf tells no median: {said[-300:]!r}")
    return float(found[1])


def _said_by(words: list[str]) -> str:
    """The output of a client on the sender's core."""
    pinned = _pinned(placement(default_placement()).sender_cpu)
    done = subprocess.run([*pinned, *words], check=True, capture_output=True, text=True)
    return done.stdout


def _pinned(cpu: int | None) -> list[str]:
    return [] if cpu is None else ["taskset", "--cpu-list", str(cpu)]


if __name__ == "__main__":
    sys.exit(main())
