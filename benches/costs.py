"""What calls, iterations, sleeps and writes cost on this machine, for the simulation.

    python -m costs [--into crates/simulation/costs.txt]

Each cost is measured in every round, the rounds one after the other; told are the median of the
rounds and its interval. The sender is on one core, the receiver on another, and both are kept awake
where that is permitted.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import select
import socket
import statistics
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import date
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import uvloop
from pairs import environment_words, show_environment

import tinygram
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.host.placement import placement
from tinygram_bench.model.result import Figure
from tinygram_bench.statistics.figures.intervals import confidence_of, figure_of

_ROUNDS = 9
_MESSAGE = bytes(100)
_LARGE = bytes(60_000)
_BURSTS = 10
"""Bursts of 64 messages in a measurement; all of them stay held."""
_SPACED_S = 60e-6
"""The time between two messages: the receiver has fallen asleep by then."""
_LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "resting": lambda: tinygram.new_event_loop(asyncio.SelectorEventLoop),
    "foreign": uvloop.Loop,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, help="the file that the simulation reads")
    asked = parser.parse_args()
    show_environment("cubic")
    cores = placement("apart")
    assert cores.sender_cpu is not None
    os.sched_setaffinity(0, {cores.sender_cpu})
    found: dict[str, list[float]] = {}
    with cores_awake(), _receiver(cores.receiver_cpu) as (sock, told):
        host = environment_words("cubic")
        for _ in range(_ROUNDS):
            for name, value in _round(sock, told):
                found.setdefault(name, []).append(value)
    lines = [_line(name, figure_of(values)) for name, values in sorted(found.items())]
    confidence, today = f"{confidence_of(_ROUNDS):.1%}", date.today()
    text = "\n".join(
        [
            "# Costs for the simulation, measured by benches/costs.py: name, median, low, high.",
            f"# Measured on {today.day} {today:%B %Y}: {host}.",
            f"# Nanoseconds, of a byte picoseconds; {_ROUNDS} rounds, confidence {confidence}.",
            *lines,
        ]
    )
    print(text)
    if asked.into is not None:
        asked.into.write_text(text + "\n")
    return 0


def _line(name: str, figure: Figure) -> str:
    return f"{name} {figure.median:.0f} {figure.low:.0f} {figure.high:.0f}"


def _round(sock: socket.socket, told: Any) -> Iterator[tuple[str, float]]:
    """Every cost once."""
    write_ns, receive_ns = _writes_ns(sock, told, _MESSAGE)
    large_ns, _ = _writes_ns(sock, told, _LARGE)
    yield "write_ns", write_ns
    yield "byte_ps", (large_ns - write_ns) / (len(_LARGE) - len(_MESSAGE)) * 1e3
    yield "receive_ns", receive_ns
    for name, new_loop in _LOOPS.items():
        with asyncio.Runner(loop_factory=new_loop) as runner:
            for cost, value in runner.run(_of_event_loop()).items():
                yield f"{name}.{cost}", value
    for cost, value in _of_plain_loop().items():
        yield f"plain.{cost}", value


def _writes_ns(sock: socket.socket, told: Any, message: bytes) -> tuple[float, float]:
    """How long a write takes, and how long after it the receiver has its last byte."""
    out = tinygram.batch(sock, strategy=tinygram.nodelay)
    taken_ns, ends_ns = [], []
    for _ in range(300):
        _spin(_SPACED_S)
        begin_ns = time.monotonic_ns()
        out.send(message)
        end_ns = time.monotonic_ns()
        taken_ns.append(end_ns - begin_ns)
        ends_ns.append(end_ns)
    told.send((len(message), len(ends_ns)))
    received_ns = told.recv()
    after_ns = [there - end for there, end in zip(received_ns, ends_ns, strict=True)]
    return statistics.median(taken_ns), max(0.0, statistics.median(after_ns))


async def _of_event_loop() -> dict[str, float]:
    ours, peer = socket.socketpair()
    with peer:
        loop = asyncio.get_running_loop()
        held = tinygram.coalesce(1e9)
        transport, _ = await tinygram.create_connection(
            loop, asyncio.Protocol, sock=ours, strategy=held, max_bytes=1 << 30
        )
        iteration_ns = await _elapsed_ns(5_000, _turn)
        call_ns = _calls_ns(transport.write)
        cpu_ns = time.process_time_ns()
        for _ in range(100):
            await asyncio.sleep(1e-3)
        wake_ns = (time.process_time_ns() - cpu_ns) / 100 - iteration_ns
        transport.abort()
        await asyncio.sleep(0)
    return {"call_ns": call_ns, "iteration_ns": iteration_ns, "wake_ns": max(0.0, wake_ns)}


async def _turn() -> None:
    await asyncio.sleep(0)


async def _elapsed_ns(times: int, turn: Callable[[], Coroutine[Any, Any, None]]) -> float:
    begin_ns = time.perf_counter_ns()
    for _ in range(times):
        await turn()
    return (time.perf_counter_ns() - begin_ns) / times


def _of_plain_loop() -> dict[str, float]:
    ours, peer = socket.socketpair()
    with ours, peer:
        out = tinygram.batch(ours, strategy=tinygram.coalesce(1e9), max_bytes=1 << 30)
        call_ns = _calls_ns(out.send)
        begin_ns = time.perf_counter_ns()
        for _ in range(5_000):
            has_time = out.deadline_ns is not None and out.deadline_ns > time.monotonic_ns()
            select.select([ours], [], [], 0 if has_time else 1e-9)
            out.poll()
        iteration_ns = (time.perf_counter_ns() - begin_ns) / 5_000
        cpu_ns = time.process_time_ns()
        for _ in range(100):
            time.sleep(1e-3)
        wake_ns = (time.process_time_ns() - cpu_ns) / 100

        out.flush()
    return {"call_ns": call_ns, "iteration_ns": iteration_ns, "wake_ns": wake_ns}


def _calls_ns(send: Callable[[bytes], object]) -> float:
    """A message that is held, the program's loop around it included; buffers have grown before."""
    burst = [_MESSAGE] * 64
    for _ in range(_BURSTS):
        for message in burst:
            send(message)
    begin_ns = time.perf_counter_ns()
    for _ in range(_BURSTS):
        for message in burst:
            send(message)
    return (time.perf_counter_ns() - begin_ns) / (_BURSTS * len(burst))


def _spin(for_s: float) -> None:
    until_s = time.perf_counter() + for_s
    while time.perf_counter() < until_s:
        pass


@contextmanager
def _receiver(core: int | None) -> Iterator[tuple[socket.socket, Any]]:
    """A connected socket, and a pipe on which its receiver tells when each message was there."""
    context = get_context("fork")
    ours, theirs = context.Pipe()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        process = context.Process(
            target=_receive, args=(listener.getsockname(), theirs, core), daemon=True
        )
        process.start()
        sock, _ = listener.accept()
    try:
        with sock:
            yield sock, ours
    finally:
        process.join(timeout=5)
        process.kill()


def _receive(address: tuple[str, int], told: Any, core: int | None) -> None:
    if core is not None:
        os.sched_setaffinity(0, {core})
    buffer = bytearray(1 << 20)
    reads: list[tuple[int, int]] = []
    asked = None
    with socket.create_connection(address) as sock:
        sock.settimeout(10e-3)
        while True:
            if told.poll():
                asked = told.recv()
            if asked is not None and sum(count for _, count in reads) == asked[0] * asked[1]:
                told.send(_ends_ns(reads, asked[0]))
                reads, asked = [], None
            try:
                count = sock.recv_into(buffer)
            except TimeoutError:
                continue
            if not count:
                return
            reads.append((time.monotonic_ns(), count))


def _ends_ns(reads: list[tuple[int, int]], message_bytes: int) -> list[int]:
    """When the last byte of each message was there."""
    ends, total = [], 0
    for at_ns, count in reads:
        before, total = total, total + count
        ends += [at_ns] * (total // message_bytes - before // message_bytes)
    return ends


if __name__ == "__main__":
    raise SystemExit(main())
