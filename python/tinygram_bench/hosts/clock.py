"""The far host's clock: when it is looked at, and what its looks say (looks.py).

The shortest of many round trips in a row is a look. A run has looks before, after, and in between.
"""

from __future__ import annotations

import socket
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TypeVar

from tinygram_bench.host.network.connections import end_when_silent, introduce
from tinygram_bench.hosts.address import REMEDY
from tinygram_bench.hosts.clock_server import TIME
from tinygram_bench.hosts.difference import MOST_DRIFT, MOST_NS, Difference, Followed
from tinygram_bench.hosts.looks import JumpError, Look, difference, followed
from tinygram_bench.processes.workers import RunError

T = TypeVar("T")

_TRIPS = 64
"""The most round trips of a look; the shortest one counts."""
FEWEST_TRIPS = 4
_MOST_TIMES_SHORTEST = 1.25
"""A look in between is slow where its round trip is more than this many times the shortest one."""
_ALONE_EVERY_S = 1.0
"""How often the clock is looked at while a case runs alone."""
_ALONE_LOOKS = 256
"""After this many looks the time between two grows with how long the case has run, so that the
first of them is still kept at its end."""
_LOOK_NS = 500_000_000
"""Where round trips are long, a look is over after this time: each run needs two of them."""
_LIMIT_S = 5.0
_TELLING_NS = 120 * 10**9
"""Older looks say nothing of the present drift, unless the time that is asked about is as old."""
_MOST_LOOKS = 4_096
FRESH_NS = 10**9
"""A clock drifts too little in this time to look again before a start."""
_NOTE_BYTES = 16


class Clock:
    """The far host's clock, asked over a connection of its own."""

    def __init__(self, host: str, port: int, token: bytes) -> None:
        """Raises RunError."""
        self._looks: deque[Look] = deque(maxlen=_MOST_LOOKS)
        self._slow: deque[Look] = deque(maxlen=_MOST_LOOKS)
        """Looks in between whose round trips took too long to convert times by them."""
        self._looked_ns = 0
        self._jump: tuple[int, RunError] | None = None
        """The last jump: the time of the look before which it happened, and its error."""
        self._unheard = 0
        """How many answers are still to come that nobody waited for: no look is made of them."""
        self._heard = b""
        """The bytes of an answer that has come in part."""
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
        found = self._shortest(self._looked_ns + _LOOK_NS, FEWEST_TRIPS)
        assert found is not None, "without an answer it has failed"
        self._looks.append(found)

    def _shortest(self, until_ns: int, fewest: int, latest_ns: int | None = None) -> Look | None:
        """The shortest of the round trips until then, and of so many. Raises RunError.

        None where there is a latest time, and none has ended by then.
        """
        trips = self._trips(until_ns, fewest, latest_ns)
        try:
            return min(trips, key=lambda each: each.round_trip_ns, default=None)
        except OSError as error:
            self.failure = f"the clock of {self._host} does not answer: {error}{REMEDY}"
            raise RunError(self.failure) from error
        except RunError as error:
            self.failure = str(error)
            raise

    def look_between(self, until_ns: int, latest_ns: int | None = None) -> None:
        """Look once more while cases run, with round trips that are likely to end by `until_ns`.

        No answer is waited for after `latest_ns`, which is `until_ns` unless it is given: a slice
        may be about to begin. It tells of no failure: the look after the run does. Where all round
        trips took long, it only counts where it contradicts what the other looks say.
        """
        if self.failure is not None:
            return
        looking_ns = time.monotonic_ns()
        most_ns = _MOST_TIMES_SHORTEST * self.round_trip_ns
        # What fails is in `failure`, as after a look.
        with suppress(RunError):
            found = self._shortest(until_ns, 1, until_ns if latest_ns is None else latest_ns)
            if found is None:
                return
            if found.round_trip_ns <= most_ns:
                self._looked_ns = looking_ns
                self._looks.append(found)
            else:
                self._slow.append(found)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Look in between while the block waits for a case that runs alone, without any pauses.

        Each of these looks is a few round trips, once a second at most. Nobody else may ask
        meanwhile.
        """
        over, begun_s = threading.Event(), time.monotonic()

        def look() -> None:
            every_s = _ALONE_EVERY_S
            while not over.wait(every_s):
                now_ns = time.monotonic_ns()
                # Nobody waits for this thread: what takes long may still contradict the others.
                self.look_between(now_ns + FEWEST_TRIPS * self.round_trip_ns, now_ns + _LOOK_NS)
                every_s = max(_ALONE_EVERY_S, (time.monotonic() - begun_s) / _ALONE_LOOKS)

        thread = threading.Thread(target=look, name="clock", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def followed(self, since_ns: int) -> Followed:
        """The difference from a time of our clock to the last look, which must be later.

        Raises RunError where a clock has jumped meanwhile; what comes after that is judged anew.
        """
        found = self._unless_jumped(lambda looks: followed(looks, since_ns, self._slow), since_ns)
        if self._jump is not None and since_ns < self._jump[0]:
            # Also for a second case that ran while a clock jumped.
            raise RunError(str(self._jump[1]))
        return found

    def difference_now(self) -> Difference:
        """The line through the looks of the last two minutes; a jump before does not matter to it.

        It is for the present, and the near future.
        """
        return self._unless_jumped(difference)

    def onwards(self) -> Difference:
        """The line from the last look on, for those who convert times as they come.

        It has no slope, unless the looks show more of a drift than their round trips can feign.
        """
        found = self.difference_now()
        last_ns = self._looks[-1].at_ns
        looks = self._looks_since(last_ns)
        feigned_ns = max(look.round_trip_ns for look in looks)
        is_shown = abs(found.rate) * (last_ns - looks[0].at_ns) > feigned_ns
        rate = max(-MOST_DRIFT, min(found.rate, MOST_DRIFT)) if is_shown else 0.0
        return Difference(last_ns, found.far_ns(last_ns) - last_ns, rate, found.bound_ns)

    def _unless_jumped(self, find: Callable[[Sequence[Look]], T], since_ns: int | None = None) -> T:
        """What is found of the looks; after a jump, of the last one alone.

        Where it came before `since_ns`, of those from the last look before that on.
        """
        try:
            return find(self._looks_since(self._looks[-1].at_ns if since_ns is None else since_ns))
        except JumpError as jump:
            if since_ns is not None:
                while len(self._looks) > 1 and self._looks[1].at_ns <= since_ns:
                    self._looks.popleft()
                with suppress(JumpError):
                    found = find(list(self._looks))
                    self._jump = self._looks[0].at_ns, jump
                    return found
            last = self._looks[-1]
            self._jump = last.at_ns, jump
            self._looks.clear()
            self._looks.append(last)
            return find([last])

    def _looks_since(self, since_ns: int) -> list[Look]:
        """The looks that count now, and earlier ones from the last one before `since_ns` on.

        Before the first look the difference would be a guess, which no bound covers.
        """
        before = (look.at_ns for look in self._looks if look.at_ns <= since_ns)
        begun_ns = max(before, default=self._looks[0].at_ns)
        from_ns = min(self._looks[-1].at_ns - _TELLING_NS, begun_ns)
        return [look for look in self._looks if look.at_ns >= from_ns]

    def _trips(self, until_ns: int, fewest: int, latest_ns: int | None) -> Iterator[Look]:
        """Round trips, the last of which is likely to end by then.

        With a latest time, one that has not ended by it is left out. Raises OSError and RunError.
        """
        for count in range(1, _TRIPS + 1):
            try:
                while self._unheard:
                    self._wait_until(latest_ns)
                    self._hear()
                self._wait_until(latest_ns)
                trip = self._ask()
            except TimeoutError as error:
                # An error of the kernel is that of a dead connection.
                if latest_ns is None or error.errno is not None:
                    raise
                return
            yield trip
            if count >= fewest and time.monotonic_ns() + trip.round_trip_ns > until_ns:
                break

    def _wait_until(self, latest_ns: int | None) -> None:
        """Have what is asked next wait for no longer. Raises TimeoutError where that is over."""
        left_s = _LIMIT_S if latest_ns is None else (latest_ns - time.monotonic_ns()) / 1e9
        if left_s <= 0:
            raise TimeoutError
        self._sock.settimeout(left_s)

    def _hear(self) -> bytes:
        while len(self._heard) < TIME.size:
            more = self._sock.recv(TIME.size - len(self._heard))
            if not more:
                raise OSError("it has ended the connection")
            self._heard += more
        answer, self._heard = self._heard, b""
        self._unheard -= 1
        return answer

    def _ask(self) -> Look:
        asked_ns = time.monotonic_ns()
        self._sock.sendall(b"?")
        self._unheard += 1
        answer = self._hear()
        heard_ns = time.monotonic_ns()
        (far_ns,) = TIME.unpack(answer)
        if far_ns > MOST_NS:
            raise RunError(f"the clock of {self._host} tells a time that no clock has: {far_ns} ns")
        middle_ns = (asked_ns + heard_ns) // 2
        return Look(middle_ns, far_ns - middle_ns, heard_ns - asked_ns)


def notes_here(notes: bytes, found: Followed) -> bytes:
    """A far receiver's notes (pairs of bytes so far, and when) with times of our clock.

    Raises RunError where they are no notes, or have a time that our clock cannot have.
    """
    return _notes_at(notes, found.near_ns, "the notes of the far host's receiver")


def notes_there(notes: bytes, found: Followed) -> bytes:
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
