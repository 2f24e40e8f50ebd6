"""What is received reaches the protocol as it came, whoever else reads on the same loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from functools import partial

from tests.library.setups import Connector, Setup, wait_for

SIZES = (1, 100, 20_000, 1, 5_000)


class Keeper(asyncio.Protocol):
    """Keeps every piece as it was given, to be looked at later."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)


def have_received(keepers: list[Keeper], count: int) -> bool:
    return all(sum(map(len, keeper.pieces)) == count for keeper in keepers)


async def keep_pieces(connect: Connector, mark: bytes) -> None:
    """Two connections, read in turn: what one received stays what it was."""
    pairs = [socket.socketpair() for _ in range(2)]
    keepers = [Keeper(), Keeper()]
    transports = [
        await connect.protocol(keeper, ours)
        for keeper, (ours, _) in zip(keepers, pairs, strict=True)
    ]
    marks = [mark + b"%d" % number for number in range(2)]
    received = 0
    for count in SIZES:
        for its_mark, (_, peer) in zip(marks, pairs, strict=True):
            peer.send(its_mark * count)
        received += len(marks[0]) * count
        await wait_for(partial(have_received, keepers, received))
    for keeper, its_mark in zip(keepers, marks, strict=True):
        assert all(type(piece) is bytes for piece in keeper.pieces)
        assert b"".join(keeper.pieces) == its_mark * sum(SIZES)
        assert keeper.pieces[0] == its_mark
    for transport, (_, peer) in zip(transports, pairs, strict=True):
        transport.close()
        peer.close()


def test_a_piece_stays_what_it_was_when_others_are_read(setup: Setup) -> None:
    setup.run(lambda connect: keep_pieces(connect, b"a"))


def test_loops_of_different_threads_read_side_by_side(setup: Setup) -> None:
    failures: list[BaseException] = []

    def run(mark: bytes) -> None:
        try:
            for _ in range(5):
                setup.run(lambda connect: keep_pieces(connect, mark))
        except BaseException as failure:
            failures.append(failure)
            raise

    threads = [threading.Thread(target=run, args=(mark,)) for mark in (b"x", b"yy", b"zzz")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert not failures
