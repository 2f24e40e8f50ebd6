"""What real asyncio programs gain or lose on the drop-in event loop. `make bench-real`.

Each program runs on each base loop and on ours over it, in processes of their own on one core,
about a second each: in every round all pairs, in a random order, a pair's two runs one after the
other. There is no target: a row that gains nothing is a finding too. Writes are system calls that
put bytes on a TCP connection, counted by strace in runs of their own, on both loops alike.
Arguments name the loads to measure; with `--run LOAD LOOP PORT` this script is one program.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from pairs import SEED, shown
from real_loads import LOADS, Load
from tests.real.loops import BASES, new_loop
from tests.real.redis_server import redis_server

from tinygram.bench.network import Network, private_network
from tinygram.bench.placement import default_placement, placement
from tinygram.bench.result import Figure
from tinygram.bench.statistics.intervals import figure_of
from tinygram.bench.statistics.verdicts import judge

_ROUNDS = 7
_WARM_UP_S = 0.2
_MEASURED_S = 0.8
_TIMEOUT_S = 20
_CONGESTION_CONTROL = "reno"
"""It does not pace, and is the one that every kernel lets every network namespace have."""
_DEFAULT_CONGESTION_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_START, _END = b"measured part starts", b"measured part ends"
_WRITE = re.compile(r"(?:write|writev|sendto|sendmsg|sendmmsg)\(\d+<TCP\S*\[.*\) = [1-9]\d*$")


@dataclass(frozen=True)
class Ran:
    """What one process did in its measured part."""

    operations: int
    seconds: float
    cpu_seconds: float

    @property
    def rate_per_s(self) -> float:
        return self.operations / self.seconds

    @property
    def cpu_s(self) -> float:
        """Of one operation."""
        return self.cpu_seconds / self.operations


@dataclass
class Row:
    """A program on a base loop, and on ours over it."""

    name: str
    base: str
    pairs: list[tuple[Ran, Ran]] = field(default_factory=list)
    """(base, ours) of each round."""
    messages_per_write: tuple[float | None, float | None] = (None, None)

    @property
    def load(self) -> Load:
        return LOADS[self.name]

    @property
    def loops(self) -> tuple[str, str]:
        return f"stock-{self.base}", f"tinygram-{self.base}"


def main() -> int:
    if sys.argv[1:2] == ["--run"]:
        name, loop, port = sys.argv[2:]
        return _run_here(name, loop, int(port))
    chosen = sys.argv[1:] or list(LOADS)
    if unknown := set(chosen) - set(LOADS):
        sys.exit(f"unknown: {', '.join(unknown)}; the known ones are {', '.join(LOADS)}")
    rows = [Row(name, base) for name in chosen for base in BASES]
    cpus = placement(default_placement())
    assert cpus.sender_cpu is not None
    assert cpus.receiver_cpu is not None
    os.environ["REAL_PROGRAMS_CPU"] = str(cpus.sender_cpu)
    everywhere = os.sched_getaffinity(0)
    with (
        private_network() as network,
        network.entered(),
        tempfile.TemporaryDirectory() as folder,
    ):
        _print_conditions(network)
        os.sched_setaffinity(0, {cpus.receiver_cpu})
        with redis_server(Path(folder)) as server:
            os.sched_setaffinity(0, everywhere)
            _measure(rows, server.port)
            for row in rows:
                first, second = (_messages_per_write(row, loop, server.port) for loop in row.loops)
                row.messages_per_write = first, second
    _print_table(rows)
    return 0


def _print_conditions(network: Network) -> None:
    """Also pins the congestion control, which the programs leave to their network's default."""
    if network.is_private:
        _DEFAULT_CONGESTION_CONTROL.write_text(_CONGESTION_CONTROL)
        remark = "pinned"
    else:
        remark = "the host's: it is pinned only for root, in a network namespace"
    packages = ("aiohttp", "websockets", "redis", "coredis", "uvloop")
    print(
        f"Linux {platform.release()}, Python {platform.python_version()}, "
        f"{', '.join(f'{name} {version(name)}' for name in packages)}; {_ROUNDS} rounds; "
        f"congestion control {_DEFAULT_CONGESTION_CONTROL.read_text().strip()} ({remark}).\n",
        flush=True,
    )


def _measure(rows: list[Row], port: int) -> None:
    order = random.Random(SEED)
    for round in range(_ROUNDS + 1):
        print(f"round {round} of {_ROUNDS}", file=sys.stderr)
        for row in order.sample(rows, len(rows)):
            base, ours = row.loops
            if round % 2:
                first = _run(row.name, base, port)
                second = _run(row.name, ours, port)
            else:
                second = _run(row.name, ours, port)
                first = _run(row.name, base, port)
            if round:  # the first fills caches
                row.pairs.append((first, second))


def _command(name: str, loop: str, port: int) -> list[str]:
    return [sys.executable, __file__, "--run", name, loop, str(port)]


def _run(name: str, loop: str, port: int, tracer: tuple[str, ...] = ()) -> Ran:
    done = subprocess.run(
        [*tracer, *_command(name, loop, port)],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{name} on {loop} failed:\n{done.stderr[-2000:]}")
    return Ran(**json.loads(done.stdout))


def _messages_per_write(row: Row, loop: str, port: int) -> float | None:
    """None where there is no strace."""
    if shutil.which("strace") is None:
        return None
    with tempfile.NamedTemporaryFile("r", errors="replace") as trace:
        calls = "trace=write,writev,sendto,sendmsg,sendmmsg"
        ran = _run(row.name, loop, port, ("strace", "-yy", "-s32", "-o", trace.name, "-e", calls))
        measured = trace.read().partition(_START.decode())[2].partition(_END.decode())[0]
    writes = sum(1 for line in measured.splitlines() if _WRITE.match(line))
    return ran.operations * row.load.messages / writes


def _run_here(name: str, loop: str, port: int) -> int:
    os.sched_setaffinity(0, {int(os.environ["REAL_PROGRAMS_CPU"])})
    with asyncio.Runner(loop_factory=lambda: new_loop(loop)) as runner:
        ran = runner.run(_portions(LOADS[name], port))
    print(json.dumps(vars(ran)))
    return 0


async def _portions(load: Load, port: int) -> Ran:
    async with load.open(port) as portion:
        until = time.perf_counter() + _WARM_UP_S
        await portion()
        while time.perf_counter() < until:
            await portion()
        gc.collect()
        with open(os.devnull, "wb", buffering=0) as marks:
            operations = 0
            marks.write(_START)
            cpu_start = time.process_time()
            start = now = time.perf_counter()
            while now - start < _MEASURED_S:
                operations += await portion()
                now = time.perf_counter()
            cpu_seconds = time.process_time() - cpu_start
            marks.write(_END)
        return Ran(operations, now - start, cpu_seconds)


def _print_table(rows: list[Row]) -> None:
    print(
        "| program | base loop | operations/s, base | ours ÷ base | messages/write, base → ours "
        "| CPU per operation, ours ÷ base |"
    )
    print("|---|---|--:|--:|--:|--:|")
    for row in rows:
        cpu = figure_of([ours.cpu_s / base.cpu_s for base, ours in row.pairs])
        cells = (
            f"{row.load.what} (per {row.load.operation})",
            row.base,
            f"{median(base.rate_per_s for base, _ in row.pairs):,.0f}",
            shown(_throughput(row)),
            " → ".join(
                "-" if value is None else f"{value:.2f}" for value in row.messages_per_write
            ),
            shown(cpu),
        )
        print(f"| {' | '.join(cells)} |")
    print()
    for name in dict.fromkeys(row.name for row in rows):
        said = ", ".join(f"{_verdict(row)} on {row.base}" for row in rows if row.name == name)
        print(f"- {LOADS[name].what}: {said}. {LOADS[name].why}")


def _throughput(row: Row) -> Figure:
    return figure_of([ours.rate_per_s / base.rate_per_s for base, ours in row.pairs])


def _verdict(row: Row) -> str:
    return judge(_throughput(row), "messages_per_s").replace("_", " ")


if __name__ == "__main__":
    sys.exit(main())
