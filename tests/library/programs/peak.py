"""Prints by how many bytes resident memory grows at most while a peer reads nothing.

Arguments: the name of a set-up, or base-asyncio, base-uvloop; `one` message of 64 MiB, or `many` of
1 MiB. The messages that the program itself keeps were there before.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.library.setups import Setup

_ALL_BYTES = 64 << 20
_COUNTS = {"one": 1, "many": 64}


def _status_bytes(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.removesuffix("kB")) << 10
    raise LookupError(name)


async def _grown_bytes(writer: Any, messages: list[bytes]) -> int:
    writer.write(b"makes what is made once")
    await asyncio.sleep(0)
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts again: proc_pid_clear_refs(5).
    before_bytes = _status_bytes("VmRSS")
    for message in messages:
        writer.write(message)
    await asyncio.sleep(0.01)
    grown_bytes = _status_bytes("VmHWM") - before_bytes
    assert writer.transport.get_write_buffer_size() > _ALL_BYTES // 2, "the peer reads"
    return grown_bytes


def main(name: str, way: str) -> None:
    """Do what the module says."""
    kind, _, base = name.partition("-")
    setup = Setup(f"opened-{base}" if kind == "base" else name)
    count = _COUNTS[way]
    messages = [b"%c" % number * (_ALL_BYTES // count) for number in range(count)]
    ours, peer = socket.socketpair()

    async def program(connect: Any) -> int:
        if kind == "base":
            _, writer = await asyncio.open_connection(sock=ours)
        else:
            _, writer = await connect.streams(ours)
        grown_bytes = await _grown_bytes(writer, messages)
        peer.close()
        with contextlib.suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()
        return grown_bytes

    print(setup.run(program))


if __name__ == "__main__":
    main(*sys.argv[1:])
