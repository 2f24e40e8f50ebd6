"""How the far host's clock differs from ours, and how well that is known.

A round trip says that the far clock was read between its beginning and its end (Cristian, 1989).
The shortest of many in a row bound the difference best; a line through those of several looks
follows the drift (least squares). What cannot be known is how a round trip's time divides between
there and back: the difference may be wrong by half of it, and by the residual of the line. Both
clocks are taken to run evenly between two looks; where a look shows that one does not, that is
told.
"""

from __future__ import annotations

import socket
import time
from array import array
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from statistics import linear_regression
from typing import NamedTuple

from tinygram_bench.host.network.connections import end_when_silent, introduce
from tinygram_bench.hosts.address import REMEDY
from tinygram_bench.hosts.clock_server import TIME
from tinygram_bench.hosts.difference import MOST_DRIFT, Difference
from tinygram_bench.processes.workers import RunError

_TRIPS = 64
"""The most round trips of a look; the shortest one counts."""
_FEWEST_TRIPS = 4
_LOOK_NS = 500_000_000
"""Where round trips are long, a look is over after this time: each run needs two of them."""
_LIMIT_S = 5.0
_TELLING_NS = 120 * 10**9
"""Older looks say nothing of the present drift, unless the time that is asked about is as old."""
_MOST_LOOKS = 4_096
FRESH_NS = 10**9
"""A clock drifts too little in this time to look again before a start."""
_MOST_NS = 1 << 61
"""No clock that began with its host has come so far: 73 years."""
_NOTE_BYTES = 16
_JUMP_NS = 1_000_000
"""Clocks drift by millionths: one that is this far from the line has jumped, or stood still."""


class _JumpError(RunError):
    """A clock has jumped."""


class Look(NamedTuple):
    """The shortest round trip of a look: its time here, far minus near, and its length, in ns."""

    at_ns: int
    offset_ns: int
    round_trip_ns: int


def difference(looks: list[Look]) -> Difference:
    """The line through the looks. Raises RunError where a clock has jumped."""
    since_ns, base_ns = looks[0].at_ns, looks[0].offset_ns
    # Relative to the first look: a float would keep too few digits of the times themselves.
    at_ns = [look.at_ns - since_ns for look in looks]
    strays_ns = [look.offset_ns - base_ns for look in looks]
    rate, at_first_ns = linear_regression(at_ns, strays_ns) if len(looks) > 1 else (0.0, 0.0)
    residual_ns = max(
        abs(stray_ns - (at_first_ns + rate * at))
        for at, stray_ns in zip(at_ns, strays_ns, strict=True)
    )
    trip_ns = max(look.round_trip_ns for look in looks)
    jumped_ns = residual_ns if residual_ns > _JUMP_NS + trip_ns else 0.0
    for earlier, later in pairwise(looks):
        changed_ns = abs(later.offset_ns - earlier.offset_ns)
        drift_ns = MOST_DRIFT * (later.at_ns - earlier.at_ns)
        # Each of the two looks may be wrong by half of its round trip.
        if changed_ns > drift_ns + (earlier.round_trip_ns + later.round_trip_ns) / 2:
            jumped_ns = max(jumped_ns, changed_ns)
    if jumped_ns:
        raise _JumpError(
            f"a clock of the two hosts has jumped by about {jumped_ns / 1e6:.3g} ms beside the "
            "other one: measure again when neither is set, suspended or moved"
        )
    bound_ns = round(trip_ns / 2 + residual_ns) + 1
    return Difference(since_ns, base_ns + round(at_first_ns), rate, bound_ns)


class Clock:
    """The far host's clock, asked over a connection of its own."""

    def __init__(self, host: str, port: int, token: bytes) -> None:
        """Raises RunError."""
        self._looks: deque[Look] = deque(maxlen=_MOST_LOOKS)
        self._looked_ns = 0
        self._jump: tuple[int, RunError] | None = None
        """The last jump: the time of the look before which it happened, and its error."""
        self._host = host
        self.failure: str | None = None
        """Why the clock does not answer any more; None while it does."""
        try:
            with ExitStack() as stack:
                self._sock = stack.enter_context(socket.create_connection((host, port), _LIMIT_S))
                self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                end_when_silent(self._sock)
                introduce(self._sock, token)
                stack.pop_all()
        except OSError as error:
            raise RunError(f"the clock of {host} cannot be asked: {error}{REMEDY}") from error

    def close(self) -> None:
        self._sock.close()

    @property
    def round_trip_ns(self) -> int:
        """The shortest round trip of the kept looks, in ns."""
        return min(look.round_trip_ns for look in self._looks)

    def look(self, since_ns: int | None = None) -> None:
        """Ask for the time, again and again, and keep the shortest answer. Raises RunError.

        With `since_ns`, a time of our clock, only where it was not asked since then: cases that
        begin or end together share a look.
        """
        if self.failure is not None:
            raise RunError(self.failure)
        if since_ns is not None and self._looked_ns >= since_ns:
            return
        self._looked_ns = time.monotonic_ns()
        try:
            found = min(self._trips(), key=lambda each: each.round_trip_ns)
        except OSError as error:
            self.failure = f"the clock of {self._host} does not answer: {error}{REMEDY}"
            raise RunError(self.failure) from error
        except RunError as error:
            self.failure = str(error)
            raise
        self._looks.append(found)

    def difference(self, since_ns: int | None = None) -> Difference:
        """The difference since a time of our clock; None: since the oldest look that counts.

        Raises RunError where a clock has jumped meanwhile; what comes after that is judged anew.
        """
        looks = self._looks_since(since_ns)
        if since_ns is None:
            since_ns = looks[0].at_ns
        try:
            return self._unless_jumped(since_ns, difference(looks))
        except _JumpError as jump:
            last = self._looks[-1]
            self._jump = last.at_ns, jump
            self._looks.clear()
            self._looks.append(last)
            return self._unless_jumped(since_ns, difference([last]))

    def _looks_since(self, since_ns: int | None) -> list[Look]:
        """The looks that count now, and earlier ones from the last one before `since_ns` on.

        Before the first look the difference would be a guess, which no bound covers.
        """
        from_ns = self._looks[-1].at_ns - _TELLING_NS
        if since_ns is not None:
            before = (look.at_ns for look in self._looks if look.at_ns <= since_ns)
            from_ns = min(from_ns, max(before, default=self._looks[0].at_ns))
        return [look for look in self._looks if look.at_ns >= from_ns]

    def difference_now(self) -> Difference:
        """The difference since the last look; an earlier jump does not matter to it."""
        return self.difference(self._looks[-1].at_ns)

    def onwards(self) -> Difference:
        """The line from the last look on, for those who convert times as they come.

        It has no slope, unless the looks show more of a drift than their round trips can feign.
        Raises RunError where a clock has jumped.
        """
        last_ns = self._looks[-1].at_ns
        found = self.difference(last_ns)
        looks = self._looks_since(last_ns)
        feigned_ns = max(look.round_trip_ns for look in looks)
        is_shown = abs(found.rate) * (last_ns - looks[0].at_ns) > feigned_ns
        rate = max(-MOST_DRIFT, min(found.rate, MOST_DRIFT)) if is_shown else 0.0
        return Difference(last_ns, found.far_ns(last_ns) - last_ns, rate, found.bound_ns)

    def _unless_jumped(self, since_ns: int, found: Difference) -> Difference:
        """The difference. Raises RunError, also for a second case that ran while a clock jumped."""
        if self._jump is not None and since_ns < self._jump[0]:
            raise RunError(str(self._jump[1]))
        return found

    def _trips(self) -> list[Look]:
        begun_ns = time.monotonic_ns()
        trips: list[Look] = []
        while len(trips) < _TRIPS:
            trips.append(self._ask())
            if len(trips) >= _FEWEST_TRIPS and trips[-1].at_ns - begun_ns > _LOOK_NS:
                break
        return trips

    def _ask(self) -> Look:
        asked_ns = time.monotonic_ns()
        self._sock.sendall(b"?")
        answer = self._sock.recv(TIME.size, socket.MSG_WAITALL)
        heard_ns = time.monotonic_ns()
        if len(answer) != TIME.size:
            raise OSError("it has ended the connection")
        (far_ns,) = TIME.unpack(answer)
        if far_ns > _MOST_NS:
            raise RunError(f"the clock of {self._host} tells a time that no clock has: {far_ns} ns")
        middle_ns = (asked_ns + heard_ns) // 2
        return Look(middle_ns, far_ns - middle_ns, heard_ns - asked_ns)


def notes_here(notes: bytes, found: Difference) -> bytes:
    """A far receiver's notes (pairs of bytes so far, and when) with times of our clock.

    Raises RunError where they are no notes, or have a time that our clock cannot have.
    """
    return _notes_at(notes, found.near_ns, "the notes of the far host's receiver")


def notes_there(notes: bytes, found: Difference) -> bytes:
    """The notes of a receiver here with times of the far clock. Raises RunError as `notes_here`."""
    return _notes_at(notes, found.far_ns, "by the far host's clock, the notes of this receiver")


def _notes_at(notes: bytes, time_ns: Callable[[int], int], which: str) -> bytes:
    if len(notes) % _NOTE_BYTES:
        raise RunError(
            f"{which}: the last one is cut off ({len(notes)} bytes, no multiple of {_NOTE_BYTES})"
        )
    pairs = array("Q", notes)
    try:
        pairs[1::2] = array("Q", map(time_ns, pairs[1::2]))
    except OverflowError as error:
        raise RunError(
            f"{which} have a time before that host was started, or one that no clock reaches: what "
            "the far host says of times is wrong"
        ) from error
    return pairs.tobytes()
