"""The drop-in loop's selector is the stock one, as far as `selectors` documents it."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import threading
import time
from collections.abc import Iterator
from types import FrameType

import pytest
from tests.library.wires import Pair

from tinygram.aio.ticking import TickingSelector

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


@pytest.fixture
def selector() -> Iterator[TickingSelector]:
    with TickingSelector() as made:
        yield made


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_it_tells_what_the_stock_one_tells(selector: TickingSelector, pair: Pair) -> None:
    ours, theirs = pair
    with selectors.EpollSelector() as stock:

        def told() -> list[tuple[selectors.SelectorKey, int]]:
            ready = selector.select(0)
            assert ready == stock.select(0)
            return ready

        for each in (selector, stock):
            each.register(ours, READ | WRITE, "both")
        assert [events for _, events in told()] == [WRITE]
        theirs.send(b"x")
        assert [(key.fileobj, key.data, events) for key, events in told()] == [
            (ours, "both", READ | WRITE)
        ]
        for each in (selector, stock):
            each.modify(ours, READ, "one")
        assert [(key.data, events) for key, events in told()] == [("one", READ)]
        ours.recv(1)
        assert told() == []
        theirs.close()
        assert [events for _, events in told()] == [READ]
        for each in (selector, stock):
            each.unregister(ours)
        assert told() == []


def test_more_than_it_tells_at_once_is_told_in_turn(selector: TickingSelector) -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"x")
    copies = {os.dup(read_end) for _ in range(300)}
    try:
        for fd in copies:
            selector.register(fd, READ)
        told: set[int] = set()
        for _ in range(10):
            told |= {key.fd for key, _ in selector.select(0)}
        assert told == copies
    finally:
        for fd in (read_end, write_end, *copies):
            os.close(fd)


def test_it_waits_at_least_as_long_as_it_is_asked(selector: TickingSelector) -> None:
    for timeout_s in (0.0101, 0.0004):
        start_s = time.monotonic()
        assert selector.select(timeout_s) == []
        assert time.monotonic() - start_s >= timeout_s


def test_it_waits_for_ever_without_the_gil(selector: TickingSelector, pair: Pair) -> None:
    ours, theirs = pair
    selector.register(ours, READ)
    waking = threading.Timer(0.01, theirs.send, [b"x"])
    waking.start()
    assert [events for _, events in selector.select(None)] == [READ]
    waking.join()


def test_a_handler_runs_during_the_wait_and_ends_it_only_by_raising(
    selector: TickingSelector,
) -> None:
    """PEP 475."""
    handled: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        handled.append(number)
        if len(handled) == 2:
            raise KeyboardInterrupt

    def be_interrupted() -> None:
        """It may be before the wait begins."""
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        selector.select(60)

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        start_s = time.monotonic()
        assert selector.select(0.03) == []
        assert time.monotonic() - start_s >= 0.03
        assert handled == [signal.SIGALRM]
        with pytest.raises(KeyboardInterrupt):
            be_interrupted()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_closed_selector_is_an_error(pair: Pair) -> None:
    selector = TickingSelector()
    selector.register(pair[0], READ)
    selector.close()
    with pytest.raises((OSError, ValueError)):
        selector.select(0)
