"""Processes of ours, seen from the bench: they are told orders, and answer.

The bench speaks with all of them in the same way, in lines of JSON on one channel (orders.py).
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Protocol, TypeVar

import msgspec

from tinygram_bench.processes.cpu_clock import cpu_ns
from tinygram_bench.processes.orders import Place
from tinygram_bench.processes.workers import RunError, Worker

_START = "tinygram_bench.processes.start"
_GRACE_S, _CUT_OFF_GRACE_S = 5.0, 0.5
"""How long others may take to tell why, too, when one has ended; less where a host was lost."""
_TAKES_ORDER_S = 20.0
"""How long a process may read nothing of an order that is larger than its channel."""
_READ_BYTES = 1 << 20

T = TypeVar("T")


class Process(Protocol):
    """A process, as far as code that waits for its answers must know it."""

    @property
    def role(self) -> str: ...

    @property
    def failure(self) -> str | None:
        """Why it failed; None while it runs and when it succeeded."""

    @property
    def is_cut_off(self) -> bool:
        """Whether its host was lost, so that nothing more is heard of it."""

    def wait_ended(self, seconds: float) -> bool:
        """Sleep until it has ended; False when `seconds` passed before that."""


class Told(ABC):
    """A process of ours that is told orders, on this host or on another one."""

    def __init__(self, process: Process, channel: socket.socket) -> None:
        """`channel`: for lines in both directions; it ends with the process."""
        channel.settimeout(_TAKES_ORDER_S)
        self.process = process
        self._channel = channel
        self._received = b""

    @property
    def pids(self) -> tuple[int, ...]:
        """Its pid; empty where it is on another host."""
        return ()

    @abstractmethod
    def cpu_ns(self) -> int:
        """The CPU time that it has used so far, in ns. Raises RunError where it cannot be asked."""

    def tell(self, order: object) -> None:
        """Send an order to the process. Raises RunError."""
        try:
            self._channel.sendall(msgspec.json.encode(order) + b"\n")
        except OSError as error:
            self.process.wait_ended(_GRACE_S)
            failure = self.process.failure or f"the {self.process.role} takes no order: {error}"
            raise RunError(failure) from error

    def take_line(self) -> bytes | None:
        """The next line that was read, None if there is none."""
        line, newline, rest = self._received.partition(b"\n")
        if not newline:
            return None
        self._received = rest
        return line

    @property
    def has_line(self) -> bool:
        """Whether a line was read, and not taken yet."""
        return b"\n" in self._received

    def read(self) -> bool:
        """Read what the process has written; False when its channel has ended."""
        try:
            said = self._channel.recv(_READ_BYTES)
        except ConnectionResetError:  # The process ended with something unread.
            return False
        self._received += said
        return bool(said)

    def dismiss(self) -> None:
        """Give the process no more orders, so that it ends when it has carried out the last."""
        with suppress(OSError):  # It has ended.
            self._channel.shutdown(socket.SHUT_WR)

    def fileno(self) -> int:
        """Readable when there is something to `read`."""
        return self._channel.fileno()


class Child(Told):
    """A process on this host, which runs a module of ours; ended at the `ExitStack`'s end."""

    def __init__(
        self,
        stack: ExitStack,
        role: str,
        module: str,
        cpu: int | None,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        """Start the process, to stay on core `cpu` (None: any). Raises RunError."""
        ours, theirs = socket.socketpair()
        stack.callback(ours.close)
        with theirs:
            self.worker = stack.enter_context(
                Worker(
                    role,
                    [sys.executable, "-m", _START, module],
                    channel=theirs.fileno(),
                    environment=environment,
                    pass_fds=pass_fds,
                )
            )
        super().__init__(self.worker, ours)
        self.tell(Place(os.getpid(), cpu))

    @property
    def pids(self) -> tuple[int, ...]:
        return (self.worker.pid,)

    def cpu_ns(self) -> int:
        """The CPU time so far, in ns. Raises OSError where it is gone."""
        return cpu_ns(self.worker.pid)


def answers(
    of: Sequence[Told],
    kind: type[T],
    give_up_s: float,
    late: str,
    children: Sequence[Told],
    programs: Sequence[Worker] = (),
) -> list[T]:
    """The next answer of each child; sleeps until all have given one.

    Raises RunError when one of the `children` ends, or one of the `programs` fails; and at
    `give_up_s` (CLOCK_MONOTONIC), with `late` as what is said of the silent ones.
    """
    said: dict[Told, bytes] = {}
    running = list(programs)
    while True:
        for child in of:
            if child not in said and (line := child.take_line()) is not None:
                said[child] = line
        silent = [child for child in of if child not in said]
        if not silent:
            return [_read(child, said[child], kind) for child in of]
        ready = _readable([*children, *running], give_up_s)
        if not ready:
            late_ones = [*running, *(child.process for child in silent)]
            roles = " and the ".join(worker.role for worker in late_ones)
            raise RunError(f"the {roles} {late}")
        if not all(child.read() for child in children if child.fileno() in ready):
            raise RunError(_failure(children, programs))
        if any(program.failure for program in running):
            raise RunError(_failure(children, programs))
        running = [program for program in running if program.fileno() not in ready]


def check_running(children: Sequence[Told], programs: Sequence[Worker], wait_s: float) -> None:
    """Raises RunError where a child has ended or a program failed, or does so within `wait_s`.

    Their answers can still be heard.
    """
    give_up_s = time.monotonic() + wait_s
    running = list(programs)
    while ready := _readable([*children, *running], give_up_s):
        if not all(child.read() for child in children if child.fileno() in ready):
            raise RunError(_failure(children, programs))
        if any(program.failure for program in running):
            raise RunError(_failure(children, programs))
        running = [program for program in running if program.fileno() not in ready]


def as_they_answer(
    of: Sequence[Sequence[Told]], give_up_s: float, beside: Sequence[Sequence[Told]]
) -> Iterator[tuple[int, bool]]:
    """Yields the number of each group of children as soon as all in it have answered, or ended.

    Also when one in it, or in those `beside` it, was on a lost host: the others then wait in vain.
    At `give_up_s` (CLOCK_MONOTONIC), the numbers of silent groups. Each comes with whether the
    group has answered.
    """
    silent = {number: set(children) for number, children in enumerate(of)}
    standing = {number: {*of[number], *beside[number]} for number in silent}
    while silent:
        # Lines that were read while others on the same stage answered are no longer in a channel.
        for children in silent.values():
            children -= {child for child in children if child.has_line}
        is_late = False
        if all(silent.values()):
            left = [child for children in silent.values() for child in children]
            hanging = [child for number in silent for child in standing[number]]
            ready = _readable(left, give_up_s, hanging)
            is_late = not ready
            for number, children in silent.items():
                children -= {child for child in children if child.fileno() in ready}
                ended = {
                    child
                    for child in standing[number]
                    if ready.get(child.fileno(), 0) & select.POLLHUP
                }
                standing[number] -= ended
                if any(child.process.is_cut_off for child in ended):
                    children.clear()
        for number, children in list(silent.items()):
            if not children or is_late:
                del silent[number]
                yield number, not children


def _read(child: Told, line: bytes, kind: type[T]) -> T:
    """Decode an answer. Raises RunError for anything else, as another host may send it."""
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RunError(f"the {child.process.role} answered something else: {error}") from error


def _readable(
    of: Sequence[Told | Worker], give_up_s: float, hanging_up: Sequence[Told] = ()
) -> dict[int, int]:
    """The events of poll(2) by descriptor: readable ones, and ends of `hanging_up`'s channels."""
    poll = select.poll()
    for child in hanging_up:
        poll.register(child.fileno(), 0)  # Only for its end.
    for each in of:
        poll.register(each.fileno(), select.POLLIN)
    return dict(poll.poll(max(0.0, give_up_s - time.monotonic()) * 1000))


def _failure(children: Sequence[Told], programs: Sequence[Worker]) -> str:
    """Why one of the processes ended; the others get time to tell reasons of their own."""
    for child in children:
        child.dismiss()
    workers: list[Process] = [*programs, *(child.process for child in children)]
    is_cut_off = any(worker.is_cut_off for worker in workers)
    give_up_s = time.monotonic() + (_CUT_OFF_GRACE_S if is_cut_off else _GRACE_S)
    for worker in workers:
        worker.wait_ended(give_up_s - time.monotonic())
    failures = dict.fromkeys(worker.failure for worker in workers)
    return "; ".join(failure for failure in failures if failure) or "a process ended early"
