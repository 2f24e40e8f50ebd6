"""The ticker of a loop that is not ours: it asks the loop for one call in the next iteration."""

from __future__ import annotations

import gc
import socket
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.library.setups import LONG
from tests.library.wires import Pair, receive_exactly, waiting_bytes

import tinygram
from tinygram import _native
from tinygram.strategies import native_knobs


class Loop:
    """Stands for an event loop: it notes what it is asked to call, and calls it when told."""

    def __init__(self) -> None:
        self.asked: list[Callable[[], object]] = []
        self.kept: Any = None

    def call_soon(self, callback: Callable[[], object]) -> None:
        self.asked.append(callback)

    def turn(self) -> None:
        asked, self.asked = self.asked, []
        for callback in asked:
            callback()


def outbox(ours: socket.socket, ticker: Any, strategy: tinygram.Strategy) -> _native.Outbox:
    """A connection of which nothing passes through a transport."""
    nothing: Any = object()
    knobs = native_knobs(strategy)
    return _native.Outbox(knobs, ours.fileno(), ticker, nothing, nothing, None, None)


def ticker_of(loop: Any) -> _native.Ticker:
    return _native.Ticker(loop)


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_loop_is_asked_once_for_all_that_is_written_in_an_iteration(unix_pair: Pair) -> None:
    ours, peer = unix_pair
    loop = Loop()
    ticker = ticker_of(loop)
    first, second = (outbox(ours, ticker, tinygram.tick) for _ in range(2))
    for message in (b"one ", b"two "):
        first.write(message)
        second.write(message)
    assert loop.asked == [ticker]
    assert waiting_bytes(peer) == 0
    loop.turn()
    assert receive_exactly(peer, 16) == b"one two one two "
    assert loop.asked == []
    second.write(b"three")
    assert loop.asked == [ticker]


def test_it_is_asked_again_while_something_waits_for_the_end_of_an_iteration(
    unix_pair: Pair,
) -> None:
    loop = Loop()
    ticker = ticker_of(loop)
    ours = unix_pair[0]
    held = outbox(ours, ticker, LONG)
    ticker.timer_fd()
    for _ in range(3):
        held.write(b"more")
        assert loop.asked == [ticker]
        loop.turn()
    held.discard()


@pytest.mark.usefixtures("without_collector")
def test_it_keeps_neither_the_loop_nor_itself_alive(unix_pair: Pair) -> None:
    loop = Loop()
    ticker = loop.kept = ticker_of(loop)
    held = outbox(unix_pair[0], ticker, tinygram.tick)
    held.write(b"message")
    loop.turn()
    ends: list[weakref.ref[Any]] = [weakref.ref(loop), weakref.ref(ticker)]
    del loop, ticker, held
    assert [end() for end in ends] == [None, None]


def test_a_loop_that_is_gone_is_not_asked(unix_pair: Pair) -> None:
    held = outbox(unix_pair[0], ticker_of(Loop()), tinygram.tick)
    held.write(b"message")
    assert held.held_bytes == 7
    held.discard()


def test_what_the_loop_refuses_is_raised(unix_pair: Pair) -> None:
    class Closed(Loop):
        def call_soon(self, callback: Callable[[], object]) -> None:
            raise RuntimeError(f"the loop is closed, and does not call {callback!r}")

    loop = Closed()
    held = outbox(unix_pair[0], ticker_of(loop), tinygram.tick)
    with pytest.raises(RuntimeError, match="the loop is closed"):
        held.write(b"message")
    held.discard()


def test_what_is_no_loop_is_refused() -> None:
    with pytest.raises(TypeError, match="weak reference"):
        ticker_of(5)
