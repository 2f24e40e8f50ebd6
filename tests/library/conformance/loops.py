"""The four loops, how a test runs on one, and what must not be left afterwards.

The two stock loops are the oracle: what asyncio documents, both do. Where they differ,
the documentation leaves it open, and a test that needs to know asks `Loop`:

| what is left open | asyncio | uvloop | tinygram |
|---|---|---|---|
| a bytearray changed after `write` | as it was, if it left at once | may be as it is | as it was |
| the same, to a stalled reader | as it was up to Python 3.11 | may be as it is | as it was |
| `loop.sendfile` | sends | NotImplementedError | as its base |
| the context of `pause_writing` | that of who writes | the connection's | as its base |

Other differences no test asks for: `write(None)` (uvloop takes it for empty), a view with gaps
(asyncio ends the connection, uvloop raises TypeError), `abort` after connection_lost (asyncio
raises), the low mark that comes with the default high one, and TLS, which pauses already at the
high mark and counts neither the same bytes as a plain transport nor those it has passed on.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
import warnings
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest

import tinygram

# Far longer than anything takes: a host may stop us for a while.
LONGEST_S = 60.0


def uvloop_loop() -> type[asyncio.AbstractEventLoop]:
    loop: type[asyncio.AbstractEventLoop] = pytest.importorskip("uvloop").Loop
    return loop


@dataclass(frozen=True)
class Loop:
    """A loop by name; its factory is asked only in a test, so that uvloop may be absent."""

    name: str
    make: Callable[[], asyncio.AbstractEventLoop]
    copies_what_may_change: bool = True
    copies_what_waits: bool = True
    can_send_files: bool = True
    pauses_in_the_writers_context: bool = True


def _asyncio_copies_what_waits() -> bool:
    """Whether this interpreter's asyncio sends a bytearray as it was when it could not leave."""
    changing = bytearray(b"as it was")

    async def write_to_a_stalled_reader() -> bytes:
        ours, peer = socket.socketpair()
        with peer:
            reader, _ = await asyncio.open_connection(sock=peer)
            _, writer = await asyncio.open_connection(sock=ours)
            fillers = 0
            while not writer.transport.get_write_buffer_size():
                writer.write(b"fill")
                fillers += 1
            writer.write(changing)
            changing[:] = b"CHANGED.."
            writer.close()
            return (await reader.read())[fillers * len(b"fill") :]

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(write_to_a_stalled_reader()) == b"as it was"


LOOPS = [
    Loop(
        "asyncio",
        asyncio.SelectorEventLoop,
        copies_what_waits=_asyncio_copies_what_waits(),
    ),
    Loop(
        "uvloop",
        lambda: uvloop_loop()(),
        copies_what_may_change=False,
        copies_what_waits=False,
        can_send_files=False,
        pauses_in_the_writers_context=False,
    ),
    Loop("tinygram", lambda: tinygram.new_event_loop()),
    Loop(
        "tinygram-on-uvloop",
        lambda: tinygram.new_event_loop(uvloop_loop()),
        can_send_files=False,
        pauses_in_the_writers_context=False,
    ),
]


class Trouble:
    """What went wrong where no caller could see it; a test that expects some clears it."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_loop_exception(self, _: object, context: dict[str, Any]) -> None:
        self.seen.append(f"{context['message']}: {context.get('exception')!r}")

    def on_unraisable(self, unraisable: Any) -> None:
        self.seen.append(f"{unraisable.err_msg}: {unraisable.exc_value!r}")


def open_descriptors() -> dict[str, str]:
    """Every descriptor of this process with what it is open to."""
    found = {}
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            found[descriptor] = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:
            # The one that listed the folder.
            continue
    return found


def run(loop: Loop, test: Callable[[], Coroutine[Any, Any, None]], trouble: Trouble) -> None:
    """Run it on a new loop, in bounded time; nothing may be left open, unclosed or unheard."""

    async def bounded() -> None:
        asyncio.get_running_loop().set_exception_handler(trouble.on_loop_exception)
        async with asyncio.timeout(LONGEST_S):
            await test()

    before = open_descriptors()
    usual_hook, sys.unraisablehook = sys.unraisablehook, trouble.on_unraisable
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with asyncio.Runner(loop_factory=loop.make) as runner:
                runner.run(bounded())
            del runner
            # What is collected unclosed says so: in cycles only now.
            gc.collect()
    finally:
        sys.unraisablehook = usual_hook
    assert [str(warning.message) for warning in warned] == []
    assert trouble.seen == []
    assert open_descriptors() == before
