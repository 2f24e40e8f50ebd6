"""The preloaded library counts exactly the writes that the kernel saw, however they are made."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import pytest
from tests.stream.kernel_trace import Trace, TracingError, Write, kernel_trace
from tests.support.processes import search_path

from tinygram_bench import _native
from tinygram_bench.host.write_counter import Counting, counting
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.processes.orders import Place
from tinygram_bench.ways import runtimes
from tinygram_bench.workloads.stream.order import Order
from tinygram_bench.workloads.turns import warm_up_messages

SEED = 5
LONGEST_S = 120.0
ROUNDED_S = 1e-6
"""The kernel's trace tells times in whole microseconds."""
# But for one option of the socket, `nagle` is written as `nodelay` is.
WAYS = [
    (runtime.name, runtime.implementation, str(strategy))
    for runtime, strategy in runtimes.all_ways()
    if strategy.name != "nagle"
]


@pytest.fixture
def trace() -> Iterator[Trace]:
    try:
        with kernel_trace() as trace:
            yield trace
    except TracingError as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def library() -> Iterator[Counting]:
    with counting() as library:
        yield library


def order_of(way: tuple[str, str, str], messages: int, sizes: tuple[int, int]) -> Order:
    """Complete but for its port."""
    runtime, implementation, strategy = way
    return Order(
        port=0,
        runtime=runtime,
        implementation=implementation,
        strategy=parse_strategy(strategy),
        seed=SEED,
        min_bytes=sizes[0],
        max_bytes=sizes[1],
        messages=messages,
        warm_up=warm_up_messages(sizes[1]),
        pace=None,
        congestion_control="cubic",
        counter_fds=None,
    )


@contextmanager
def receiving() -> Iterator[tuple[int, list[int]]]:
    """A thread takes one stream: the port, and the bytes of each read, all of them at the end.

    What the bytes are is checked of every way in test_every_way.py.
    """
    reads: list[int] = []
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)

        def receive() -> None:
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    while part := connection.recv(1 << 16):
                        reads.append(len(part))

        thread = threading.Thread(target=receive, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1], reads
            thread.join(LONGEST_S)
            assert not thread.is_alive()
        finally:
            # Where no sender came it still waits for one, and closing alone would not wake it.
            listener.shutdown(socket.SHUT_RDWR)


def send_traced(
    order: Order, library: Counting, trace: Trace, send_buffer_bytes: int
) -> tuple[Any, Any]:
    """The sender's report, and its totals: `fds`, `connected_ns` and `counts`."""
    report_fd = os.memfd_create("report")
    order = msgspec.structs.replace(order, report_fd=report_fd)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.stream.programs.counted_sender", str(send_buffer_bytes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=library.environment() | {"PYTHONPATH": search_path()},
        pass_fds=(library.fd, report_fd),
    ) as sender:
        # It waits for its order, and has started nothing yet.
        trace.follow(sender.pid)
        _, stderr = sender.communicate(
            b"".join(
                msgspec.json.encode(line) + b"\n" for line in (Place(os.getpid(), None), order)
            ),
            timeout=LONGEST_S,
        )
    assert sender.returncode == 0, stderr.decode()
    with open(report_fd, "rb") as report:
        report.seek(0)
        return json.load(report), json.loads(stderr.splitlines()[-1])


def check_counts(
    trace: Trace, library: Counting, order: Order, send_buffer_bytes: int = 0
) -> list[Write]:
    """Send as `order` says, but for its port; the calls that the kernel saw on it."""
    with receiving() as (port, reads):
        addressed = msgspec.structs.replace(order, port=port)
        report, totals = send_traced(addressed, library, trace, send_buffer_bytes)
    # Before the connection, its descriptor was another file's.
    seen = [
        write
        for write in trace.writes()
        if write.fd in totals["fds"] and write.at_s >= totals["connected_ns"] / 1e9
    ]
    done = [write for write in seen if write.result > 0]
    refused = [write for write in seen if write.result == -errno.EAGAIN]
    assert len(done) + len(refused) == len(seen) > 0
    writes, written_bytes, would_block = totals["counts"]
    assert (writes, would_block) == (len(done), len(refused))
    pool = _native.MessagePool(order.seed, order.min_bytes, order.max_bytes)
    stream_bytes = pool.stream_bytes(order.warm_up + order.messages)
    assert written_bytes == sum(write.result for write in done) == sum(reads) == stream_bytes
    # What the result tells is the part that was measured.
    start_s = report["start_ns"] / 1e9 - ROUNDED_S
    measured = [write for write in done if write.at_s >= start_s]
    assert report["counters"]["writes"] == len(measured)
    assert report["counters"]["written_bytes"] == sum(write.result for write in measured)
    return seen


@pytest.mark.parametrize("way", WAYS, ids="/".join)
def test_every_write_of_small_messages_is_counted(
    trace: Trace, library: Counting, way: tuple[str, str, str]
) -> None:
    check_counts(trace, library, order_of(way, 2_000, (1, 500)))


@pytest.mark.parametrize("runtime", ["asyncio", "uvloop"])
def test_writes_that_the_full_buffer_cut_short_or_refused_are_counted(
    trace: Trace, library: Counting, runtime: str
) -> None:
    order = order_of((runtime, "stdlib", "nodelay"), 32, (1 << 20, 1 << 20))
    seen = check_counts(trace, library, order, send_buffer_bytes=1 << 16)
    # Otherwise this has shown nothing.
    assert any(write.result < 1 << 20 for write in seen)
