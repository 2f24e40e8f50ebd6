"""What two habits of the published comparison cost: messages made while sending, pickled messages.

It makes each message just before sending it, 1 to 500 random bytes; its receiver unpickles each.
The bench makes all messages before the clock starts, and its receiver compares bytes natively. Here
a plain loop in Python sends to a receiver in Python, with and without both habits, on a core each.
Nothing is asked of the figures: they say how far absolute figures of the two can be compared.

Run with `--receive` or `--send` this script is one of the two ends.
"""

from __future__ import annotations

import os
import pickle
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle, islice
from typing import Any

from pairs import SEED, show_environment, side_by_side
from published.stored import Cell, Column, Row, figure
from published.telling import asked_into, store

from tinygram_bench.host.placement import placement
from tinygram_bench.statistics.figures.intervals import figure_of

_ROUNDS = 9
_MESSAGES = 200_000
_READY = 16_384
_HOLD_NS = 10_000
_MAX_BATCH_BYTES = 64 << 10
_READ_BYTES = 256 << 10
_LIMIT_S = 60
_STRATEGIES = ("nagle", "nodelay", "coalesce:10us")
_HABITS = ("none", "made", "pickled", "made+pickled")
_UNIT = "thousands of messages/s"
_COLUMNS = (
    Column("neither habit", "none", 0),
    Column("made while sending", "made", 0),
    Column("pickled", "pickled", 0),
    Column("both", "made+pickled", 0),
    Column("both ÷ neither", "ratio", 2),
)


def main() -> int:
    if sys.argv[1:2] == ["--receive"]:
        return _receive(*sys.argv[2:])
    if sys.argv[1:2] == ["--send"]:
        return _send(*sys.argv[2:])
    into = asked_into(__doc__)
    show_environment("cubic")
    sides: dict[str, Callable[[], float]] = {"making alone": _making_per_s}
    for strategy in _STRATEGIES:
        for habits in _HABITS:
            sides[f"{strategy}, {habits}"] = partial(_run_per_s, strategy, habits)
    found = side_by_side(sides, _ROUNDS)
    for name, rates_per_s in found.items():
        rate = figure_of(rates_per_s)
        base = found.get(name.partition(",")[0] + ", none", rates_per_s)
        ratio = figure_of([a / b for a, b in zip(rates_per_s, base, strict=True)])
        print(
            f"{name:<28} {rate.median / 1e3:7.0f} ({rate.low / 1e3:.0f}-{rate.high / 1e3:.0f}) "
            f"k messages/s; ÷ neither {ratio.median:.2f} ({ratio.low:.2f}-{ratio.high:.2f})"
        )
    alone = figure(figure_of([each / 1e3 for each in found["making alone"]]))
    rows = [
        *(_row(strategy, found) for strategy in _STRATEGIES),
        Row("making messages, and nothing sent", {"made": alone}),
    ]
    return store(into, "bench.as_published", "as-published", _UNIT, _COLUMNS, rows)


def _row(strategy: str, found: Mapping[str, Sequence[float]]) -> Row:
    """Thousands of messages a second with each habit, and with both ÷ with neither."""
    rates = {habits: found[f"{strategy}, {habits}"] for habits in _HABITS}
    both = zip(rates[_HABITS[-1]], rates[_HABITS[0]], strict=True)
    cells: dict[str, Cell] = {
        habits: figure(figure_of([each / 1e3 for each in rates[habits]])) for habits in _HABITS
    }
    return Row(strategy, cells | {"ratio": figure(figure_of([a / b for a, b in both]))})


def _made() -> Iterator[bytes]:
    """Messages as the published program makes them, one by one, without end."""
    while True:
        yield os.urandom(random.randint(1, 500))


def _making_per_s() -> float:
    begun_ns = time.monotonic_ns()
    for _ in islice(_made(), _MESSAGES):
        pass
    return _MESSAGES / (time.monotonic_ns() - begun_ns) * 1e9


def _run_per_s(strategy: str, habits: str) -> float:
    """Messages per second, from the sender's start to the receiver's end."""
    cores = placement("apart")
    script = [sys.executable, __file__]
    receive = [*script, "--receive", str(cores.receiver_cpu), habits]
    with subprocess.Popen(receive, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        port = receiver.stdout.readline().strip()
        send = [*script, "--send", str(cores.sender_cpu), port, strategy, habits]
        sent = subprocess.run(send, stdout=subprocess.PIPE, text=True, timeout=_LIMIT_S, check=True)
        end_ns, received_bytes = map(int, receiver.stdout.read().split())
    start_ns, sent_bytes = map(int, sent.stdout.split())
    if sent_bytes != received_bytes:
        raise SystemExit(f"{received_bytes} of {sent_bytes} bytes came")
    return _MESSAGES / (end_ns - start_ns) * 1e9


def _receive(cpu: str, habits: str) -> int:
    os.sched_setaffinity(0, {int(cpu)})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        sock, _ = listener.accept()
    received_bytes = _unpickled_bytes(sock) if "pickled" in habits else _read_bytes(sock)
    print(time.monotonic_ns(), received_bytes)
    return 0


def _read_bytes(sock: socket.socket) -> int:
    buffer, received_bytes = bytearray(_READ_BYTES), 0
    while count := sock.recv_into(buffer):
        received_bytes += count
    return received_bytes


def _unpickled_bytes(sock: socket.socket) -> int:
    received_bytes = 0
    with sock.makefile("rb", _READ_BYTES) as file:
        while True:
            try:
                received_bytes += len(pickle.load(file))
            except EOFError:
                return received_bytes


def _send(cpu: str, port: str, strategy: str, habits: str) -> int:
    os.sched_setaffinity(0, {int(cpu)})
    random.seed(SEED)
    ready = list(islice(_made(), _READY))
    messages = islice(_made() if "made" in habits else cycle(ready), _MESSAGES)
    dumps: Callable[[bytes], bytes] = pickle.dumps if "pickled" in habits else bytes
    with socket.socket() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(strategy != "nagle"))
        sock.connect(("127.0.0.1", int(port)))
        sends: Any = _coalesced if strategy.startswith("coalesce") else _each
        start_ns = time.monotonic_ns()
        sent_bytes = sends(sock, messages, dumps)
    print(start_ns, sent_bytes)
    return 0


def _each(sock: socket.socket, messages: Iterator[bytes], dumps: Callable[[bytes], bytes]) -> int:
    sent_bytes = 0
    for message in messages:
        sock.sendall(dumps(message))
        sent_bytes += len(message)
    return sent_bytes


def _coalesced(
    sock: socket.socket, messages: Iterator[bytes], dumps: Callable[[bytes], bytes]
) -> int:
    sent_bytes = batch_bytes = deadline_ns = 0
    batch: list[bytes] = []
    for message in messages:
        if not batch:
            deadline_ns = time.monotonic_ns() + _HOLD_NS
        data = dumps(message)
        batch.append(data)
        batch_bytes += len(data)
        sent_bytes += len(message)
        if batch_bytes >= _MAX_BATCH_BYTES or time.monotonic_ns() >= deadline_ns:
            sock.sendall(b"".join(batch))
            batch.clear()
            batch_bytes = 0
    sock.sendall(b"".join(batch))
    return sent_bytes


if __name__ == "__main__":
    sys.exit(main())
