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
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))

from published.stored import Column, figure, put
from published.stored import Row as Shown
from published.tables import markdown
from real.loads import LOADS, Load
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
from tests.real.loops import new_loop
from tests.real.redis_server import redis_server

from tinygram_bench.host.network import private_network
from tinygram_bench.model.result import Figure
from tinygram_bench.statistics.figures.intervals import figure_of

_WARM_UP_S = 0.2
_MEASURED_S = 0.8
_TIMEOUT_S = 20
_PACKAGES = ("aiohttp", "websockets", "redis", "coredis", "uvloop")
_COLUMNS = (
    Column("base loop", "base", is_text=True),
    Column("operations/s, base", "rate_per_s", 0),
    Column("ours ÷ base", "ratio", 3),
    Column("messages/write, base → ours", "messages_per_write", 2, " → "),
    Column("CPU per operation, ours ÷ base", "cpu_ratio", 3),
)
_START, _END = b"measured part starts", b"measured part ends"


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
        """CPU time of one operation."""
        return self.cpu_seconds / self.operations


def main() -> int:
    if sys.argv[1:2] == ["--run"]:
        name, loop, port = sys.argv[2:]
        return _run_here(name, loop, int(port))
    names, into = chosen(LOADS)
    rows = [Row[Ran](name, base) for name in names for base in BASES]
    program_cpu, other_cpu = two_cores()
    os.environ["REAL_PROGRAMS_CPU"] = str(program_cpu)
    everywhere = os.sched_getaffinity(0)
    with (
        private_network() as network,
        network.entered(),
        tempfile.TemporaryDirectory() as folder,
    ):
        print_conditions(network, _PACKAGES)
        os.sched_setaffinity(0, {other_cpu})
        with redis_server(Path(folder)) as server:
            os.sched_setaffinity(0, everywhere)
            measure_in_pairs(rows, lambda name, loop: _run(name, loop, server.port))
            for row in rows:
                first, second = (_messages_per_write(row, loop, server.port) for loop in row.loops)
                row.counted = first, second
    _tell(rows, into)
    return 0


def _command(name: str, loop: str, port: int) -> list[str]:
    return [sys.executable, "-m", "real.programs", "--run", name, loop, str(port)]


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


def _messages_per_write(row: Row[Ran], loop: str, port: int) -> float | None:
    """None where there is no strace."""
    if shutil.which("strace") is None:
        return None
    with tempfile.NamedTemporaryFile("r", errors="replace") as trace:
        tracer = ("strace", "-yy", "-s32", "-o", trace.name, "-e", CALLS_THAT_WRITE)
        ran = _run(row.name, loop, port, tracer)
        measured = trace.read().partition(_START.decode())[2].partition(_END.decode())[0]
    writes = sum(1 for line in measured.splitlines() if WRITE.match(line))
    return ran.operations * LOADS[row.name].messages / writes


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


def _tell(rows: list[Row[Ran]], into: Path | None) -> None:
    told = [
        Shown(
            f"{LOADS[row.name].what} (per {LOADS[row.name].operation})",
            {
                "base": row.base,
                "rate_per_s": median(base.rate_per_s for base, _ in row.pairs),
                "ratio": figure(_throughput(row)),
                "messages_per_write": counted(row),
                "cpu_ratio": figure(
                    figure_of([ours.cpu_s / base.cpu_s for base, ours in row.pairs])
                ),
            },
        )
        for row in rows
    ]
    table = table_of("python -m real.programs", _PACKAGES, "program", _COLUMNS, told)
    print(markdown(table), end="\n\n")
    if into is not None:
        put(into, "programs", table)
    for name in dict.fromkeys(row.name for row in rows):
        said = ", ".join(
            f"{verdict_on(_throughput(row))} on {row.base}" for row in rows if row.name == name
        )
        print(f"- {LOADS[name].what}: {said}. {LOADS[name].why}")


def _throughput(row: Row[Ran]) -> Figure:
    return figure_of([ours.rate_per_s / base.rate_per_s for base, ours in row.pairs])


if __name__ == "__main__":
    sys.exit(main())
