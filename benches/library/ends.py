"""A side and its far end: started, given the baton turn by turn, and what each turn cost in ns.

A far end notes when what it reads arrives, or the side itself times its replies (`Kind`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import TypeVar

from library.baton import Role, Took, Turn, settling
from library.sides.client import CONNECTIONS, REQUESTS
from library.sides.sending import (
    CONGESTION_CONTROL,
    MESSAGE_BYTES,
    OLDER,
    PER_ITERATION,
    SEED,
    WARM_UP,
)

from tinygram_bench.host.placement import placement
from tinygram_bench.processes.children import Child, answers
from tinygram_bench.processes.orders import Listening, Ready
from tinygram_bench.processes.workers import RunError, contents
from tinygram_bench.runs.slices import DRAINING_SHARE, GAP_NS
from tinygram_bench.workloads.stream.cases import MOST_MESSAGES_IN_SLICES
from tinygram_bench.workloads.stream.order import ReceiverOrder

_BENCHES = Path(__file__).parents[1]
OLDER_FOLDER = Path(sys.prefix) / OLDER
"""The folder of an older uvloop, which no other program finds."""
_LIMIT_S = 60.0
_INTERVAL_NS = 1_000_000
"""Between paced messages; the first is due so long after its turn has begun."""

T = TypeVar("T")


@dataclass(frozen=True)
class Exchanged:
    """A turn: its messages, `first` of the stream and so many more, and when it began (ns)."""

    first: int
    count: int
    took: Took


class Notes:
    """The reads of a far end, and their times."""

    def __init__(self, data: bytes) -> None:
        pairs = array("Q", data)
        self._bytes, self._at_ns = pairs[::2], pairs[1::2]

    @property
    def total_bytes(self) -> int:
        return self._bytes[-1] if self._bytes else 0

    def reading(self, message: int) -> tuple[int, int]:
        """The read that has the last byte of this message: bytes after it, and when it was."""
        index = bisect_left(self._bytes, (message + 1) * MESSAGE_BYTES)
        return self._bytes[index], self._at_ns[index]


@dataclass(frozen=True)
class Kind:
    """What measures a side.

    `far_end`: starts what the side's words need, which gets a file for notes. `near_end`: the
    program that has the turns, None: the side itself, else the side is the far end. `cost_ns`: what
    a turn cost by the notes, None: the side tells it. A turn has at least `least` messages, and a
    multiple of `step`.
    """

    far_end: Callable[[ExitStack, str, int], Child]
    cost_ns: Callable[[Notes, Exchanged], float | None] | None = None
    near_end: str | None = None
    step: int = PER_ITERATION
    least: int = PER_ITERATION


class Side:
    """A side that is up with its far end, and acts only in its turns."""

    def __init__(self, stack: ExitStack, words: str, kind: Kind) -> None:
        """Start its far end; both end with `stack`."""
        self.kind = kind
        self._stack = stack
        self._words = words
        self._notes_fd = os.memfd_create("notes")
        stack.callback(os.close, self._notes_fd)
        self._far = kind.far_end(stack, words, self._notes_fd)
        self._sent = WARM_UP
        self._turns: list[Exchanged] = []

    def start(self) -> None:
        """Start the program that has the turns, when its far end listens."""
        port = self._heard(self._far, Listening, self._far).port
        cpus = placement("apart")
        if self.kind.near_end is None:
            self._near = _started(self._stack, self._words, cpus.sender_cpu, port)
        else:
            self._near = _started(self._stack, self.kind.near_end, cpus.receiver_cpu, port)

    def wait_ready(self) -> None:
        """Wait until it has warmed up."""
        self._heard(self._near, Ready, self._near, self._far)

    def turn(self, count: int) -> int:
        """Let it exchange so many messages. Returns how long that took, in ns. Raises RunError."""
        self._near.tell(Turn(count))
        took = self._heard(self._near, Took, self._near, self._far)
        self._turns.append(Exchanged(self._sent, count, took))
        self._sent += count
        time.sleep(GAP_NS / 1e9)
        return took.took_ns

    def costs_ns(self, number: int) -> list[float | None]:
        """End it: what a message cost in each of the last turns, None where nobody knows.

        Raises RunError, also where not every byte that was sent has been noted.
        """
        self._near.dismiss()
        is_over = self._near.worker.wait_ended(_LIMIT_S)
        if self._near.worker.failure or not is_over:
            raise RunError(self._near.worker.failure or f"{self._words} does not end")
        last = self._turns[-number:]
        if self.kind.cost_ns is None:
            return [_told_ns(turn) for turn in last]
        self._heard(self._far, dict[str, int], self._far)
        notes = Notes(contents(self._notes_fd))
        if notes.total_bytes != self._sent * MESSAGE_BYTES:
            raise RunError(
                f"{notes.total_bytes} of the {self._sent * MESSAGE_BYTES} bytes of {self._words} "
                "arrived"
            )
        return [self.kind.cost_ns(notes, turn) for turn in last]

    def _heard(self, child: Child, kind: type[T], *children: Child) -> T:
        late = f"of {self._words} did not answer in {_LIMIT_S:g} s"
        (answer,) = answers([child], kind, time.monotonic() + _LIMIT_S, late, children)
        return answer


def _started(
    stack: ExitStack, words: str, cpu: int | None, port: int = 0, notes_fd: int = -1
) -> Child:
    """A process of `sides/`: the first word is its module."""
    module, *others = words.split()
    path = [str(OLDER_FOLDER), str(_BENCHES)] if OLDER in others else [str(_BENCHES)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
    fds = [] if notes_fd < 0 else [notes_fd]
    child = Child(stack, module, f"library.sides.{module}", cpu, environment, fds)
    child.tell(Role(tuple(others), port, notes_fd))
    return child


def _told_ns(turn: Exchanged) -> float:
    assert turn.took.cost_ns is not None, "there are no notes, so the side tells it"
    return turn.took.cost_ns


def _per_message_ns(notes: Notes, turn: Exchanged) -> float | None:
    """Nanoseconds per message between two reads: when 15 % and 85 % of the turn's had come.

    None where that is one read, because something stopped the far end for a whole slice.
    """
    last = turn.count - 1 - round(turn.count * DRAINING_SHARE)
    before_bytes, before_ns = notes.reading(turn.first + settling(turn.count))
    after_bytes, after_ns = notes.reading(turn.first + last)
    if before_bytes == after_bytes:
        return None
    return (after_ns - before_ns) / (after_bytes - before_bytes) * MESSAGE_BYTES


def _latency_p50_ns(notes: Notes, turn: Exchanged) -> float:
    """From when each message was due to the read of its last byte, the median."""
    return median(
        notes.reading(turn.first + index)[1] - turn.took.start_ns - (index + 1) * _INTERVAL_NS
        for index in range(settling(turn.count), turn.count)
    )


def _receiver(stack: ExitStack, _words: str, notes_fd: int) -> Child:
    """Tinygram's own, which compares every byte."""
    receiver = Child(
        stack,
        "receiver",
        "tinygram_bench.workloads.stream.receiver",
        placement("apart").receiver_cpu,
        pass_fds=[notes_fd],
    )
    receiver.tell(
        ReceiverOrder(
            messages=MOST_MESSAGES_IN_SLICES,
            warm_up=WARM_UP,
            min_bytes=MESSAGE_BYTES,
            max_bytes=MESSAGE_BYTES,
            seed=SEED,
            receive_buffer_bytes=256 << 10,
            congestion_control=CONGESTION_CONTROL,
            producers=1,
            notes_fd=notes_fd,
            turns_fd=notes_fd,
            host="127.0.0.1",
            may_end_early=True,
        )
    )
    return receiver


def _decrypting(stack: ExitStack, _words: str, notes_fd: int) -> Child:
    words = f"far_ends tls {_certificate()}"
    return _started(stack, words, placement("apart").receiver_cpu, notes_fd=notes_fd)


def _echo(stack: ExitStack, words: str, _notes_fd: int) -> Child:
    """The side's last word says which core it is on."""
    ends = words.split()[-1]
    return _started(stack, f"far_ends echo {ends}", placement(ends).receiver_cpu)


def _served(stack: ExitStack, words: str, _notes_fd: int) -> Child:
    return _started(stack, words, placement("apart").sender_cpu)


FLAT_OUT = Kind(_receiver, _per_message_ns)
"""Nanoseconds per message."""
TLS = Kind(_decrypting, _per_message_ns)
"""The same, until it is decrypted."""
PACED = Kind(_receiver, _latency_p50_ns, step=1, least=24)
"""The median latency from when each message was due; 20 messages after those that settle."""
PING_PONG = Kind(_echo, step=1, least=20)
"""The median time from a message to its echo."""
SERVED = Kind(_served, near_end="client", step=REQUESTS, least=8 * REQUESTS)
"""Nanoseconds per request that a server answers; the side is the server."""
SERVED_SINGLY = Kind(_served, near_end="client single", step=CONNECTIONS, least=64 * CONNECTIONS)
"""The same with one request under way on each connection."""


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def _certificate() -> str:
    """A certificate and its key in one file, made once."""
    if shutil.which("openssl") is None:
        raise SystemExit("openssl, which makes certificates, is missing: apt-get install openssl")
    folder = Path(_folder().name)
    pem, key = folder / "both.pem", folder / "key.pem"
    # An elliptic curve, because its keys are made at once.
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    subprocess.run(
        [*command.split(), "-subj", "/CN=localhost", "-keyout", key, "-out", pem],
        check=True,
        capture_output=True,
    )
    pem.write_bytes(pem.read_bytes() + key.read_bytes())
    return str(pem)
