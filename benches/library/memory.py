"""Resident memory on an event loop, in bytes: `python -m library.memory WHAT LOOP WAY`.

WHAT is peak: by how much 200 messages of 1 MB, each made when it is written, without drain and to a
peer that reads nothing, raise it at most; or idle: what each of 4,000 connections takes that were
made and nothing else. LOOP is asyncio or uvloop; WAY is directly or tinygram. Connections are Unix
socket pairs, whose other ends are in the same process and cost Python objects of both ways alike,
made before.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import socket
import sys
from pathlib import Path

from library.sides.sending import new_loop

_MESSAGE_BYTES = 1_000_000
_MESSAGES = 200
_CONNECTIONS = 4_000
_FIRST_CONNECTIONS = 10


def main() -> None:
    what, name, way = sys.argv[1:]
    programs = {"peak": _peak_bytes, "idle": _idle_bytes}
    with asyncio.Runner(loop_factory=lambda: new_loop(name, way == "tinygram")) as runner:
        print(runner.run(programs[what]()))


async def _peak_bytes() -> float:
    ours, peer = socket.socketpair()
    transport = await _connect(ours)
    transport.write(b"makes what is made once")
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts again: proc_pid_clear_refs(5).
    before_bytes = _status_bytes("VmRSS")
    for number in range(_MESSAGES):
        transport.write(b"%c" % number * _MESSAGE_BYTES)
    grown_bytes = _status_bytes("VmHWM") - before_bytes
    peer.close()
    while not transport.is_closing():
        await asyncio.sleep(0.001)
    return grown_bytes


async def _idle_bytes() -> float:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    pairs = [socket.socketpair() for _ in range(_FIRST_CONNECTIONS + _CONNECTIONS)]
    transports = [await _connect(ours) for ours, _ in pairs[:_FIRST_CONNECTIONS]]
    gc.collect()
    before_bytes = _status_bytes("VmRSS")
    transports += [await _connect(ours) for ours, _ in pairs[_FIRST_CONNECTIONS:]]
    gc.collect()
    grown_bytes = _status_bytes("VmRSS") - before_bytes
    for transport in transports:
        transport.abort()
    await asyncio.sleep(0)
    return grown_bytes / _CONNECTIONS


async def _connect(sock: socket.socket) -> asyncio.WriteTransport:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(asyncio.Protocol, sock=sock)
    return transport


def _status_bytes(name: str) -> int:
    """VmRSS or VmHWM of this process: proc_pid_status(5)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.removesuffix("kB")) << 10
    raise LookupError(name)


if __name__ == "__main__":
    main()
