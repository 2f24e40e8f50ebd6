"""Socket pairs and event loops for the library's tests; `tests.…` is importable from anywhere."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.library.setups import NAMES, Setup
from tests.library.wires import LONGEST_S, Pair, tcp_pair


@pytest.fixture(params=["unix", "tcp"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """A connected pair, ours and the peer's; nothing waits longer than `LONGEST_S`."""
    ours, peer = socket.socketpair() if request.param == "unix" else tcp_pair()
    ours.settimeout(LONGEST_S)
    peer.settimeout(LONGEST_S)
    with ours, peer:
        yield ours, peer


@pytest.fixture
def unix_pair() -> Iterator[Pair]:
    """The same as `pair`, Unix sockets only: nothing is lost or late between them."""
    ours, peer = socket.socketpair()
    ours.settimeout(LONGEST_S)
    peer.settimeout(LONGEST_S)
    with ours, peer:
        yield ours, peer


@pytest.fixture
def tcp() -> Iterator[Pair]:
    """The same as `pair`, TCP only."""
    ours, peer = tcp_pair()
    ours.settimeout(LONGEST_S)
    peer.settimeout(LONGEST_S)
    with ours, peer:
        yield ours, peer


@pytest.fixture(params=NAMES)
def setup(request: pytest.FixtureRequest) -> Setup:
    """Each of the four ways to have a coalescing connection in an event loop."""
    return Setup(request.param)
