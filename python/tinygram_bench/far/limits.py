"""What one client may use, enforced by the kernel where it can, otherwise by looking.

The kernel limits memory and connections of each process; what a client's processes have together is
looked at (usage.py). Bytes and their rate are those of the whole host while the client is served:
none of the client's is missed, but others' count, too.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from tinygram_bench.far.programs import RefusedError
from tinygram_bench.far.usage import OTHER_FDS, InUse
from tinygram_bench.model.units import format_bytes

EVERY_S = 5.0
"""The rate is an average over this time; looking more often would wake a core that is measured."""
_NET = Path("/proc/self/net")


class Limits(Struct, frozen=True):
    """What one client may use: time in s, processes at a time, memory and connections of them all.

    `memory_bytes`: that of its processes together, and of the files in memory that they have left;
    a process may have half of it, and a file as much. `bytes`, `rate_bytes_per_s`: received or sent
    on this host, whichever is more. `clients`: how many may wait while others are served;
    `together`: how many are served at a time.
    """

    time_s: float
    processes: int
    memory_bytes: int
    connections: int
    bytes: int
    rate_bytes_per_s: float
    clients: int
    together: int = 1


def hold(pid: int, limits: Limits) -> None:
    """Have the kernel limit a process's memory and connections. Raises OSError.

    What its client has in all is looked at only now and then: until then no process alone exceeds
    it.
    """
    own_bytes = limits.memory_bytes // 2
    most = {
        resource.RLIMIT_DATA: own_bytes,
        resource.RLIMIT_FSIZE: own_bytes,
        resource.RLIMIT_NOFILE: limits.connections + OTHER_FDS,
    }
    for kind, value in most.items():
        _, hard = resource.prlimit(pid, kind)
        value = _within(hard, value)
        resource.prlimit(pid, kind, (value, value))


def connections_within(asked: int) -> int:
    """`asked`, or fewer where the system limits a process's descriptors to fewer."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _within(hard, asked + OTHER_FDS) - OTHER_FDS


def _within(hard: int, value: int) -> int:
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


class Moved(NamedTuple):
    """The bytes that IP has received and sent on this host."""

    received: int
    sent: int

    def since(self, earlier: Moved) -> int:
        """The bytes since `earlier`: received or sent, whichever is more."""
        return max(self.received - earlier.received, self.sent - earlier.sent)


def moved_so_far(net: Path = _NET) -> Moved:
    """The bytes that went through this host since it was started. Raises OSError."""
    names, values = (
        line.split()
        for line in (net / "netstat").read_text().splitlines()
        if line.startswith("IpExt:")
    )
    counts = dict(zip(names[1:], map(int, values[1:]), strict=True))
    received, sent = counts["InOctets"], counts["OutOctets"]
    six = net / "snmp6"
    if six.exists():
        counts = {name: int(value) for name, value in map(str.split, six.read_text().splitlines())}
        received, sent = received + counts["Ip6InOctets"], sent + counts["Ip6OutOctets"]
    return Moved(received, sent)


async def end_above(
    limits: Limits, serving: Coroutine[Any, Any, None], used: Callable[[], InUse]
) -> None:
    """Await `serving`, and end it where its client uses more than `limits`. Raises RefusedError.

    `used` tells what the client's processes use together at that moment.
    """
    served = asyncio.create_task(serving)
    watched = asyncio.create_task(_watch(limits, used))
    try:
        await asyncio.wait(
            (served, watched), timeout=limits.time_s, return_when=asyncio.FIRST_COMPLETED
        )
        if served.done():
            served.result()
        elif watched.done():
            watched.result()
        else:
            raise RefusedError(
                f"a client may be served for {limits.time_s:g} s: measure less at a time, or start "
                "the server with --max-time"
            )
    finally:
        for task in (served, watched):
            task.cancel()
        await asyncio.wait((served, watched))


async def _watch(limits: Limits, used: Callable[[], InUse]) -> None:
    """Look every EVERY_S s. Raises RefusedError where more is used, or was moved, than allowed."""
    first = before = moved_so_far()
    while True:
        await asyncio.sleep(EVERY_S)
        now = moved_so_far()
        check(limits, now.since(first), now.since(before) / EVERY_S)
        check_used(limits, used())
        before = now


def check(limits: Limits, moved: int, rate_bytes_per_s: float) -> None:
    """Raises RefusedError where a client has moved more bytes, or faster, than it may."""
    if moved > limits.bytes:
        raise RefusedError(
            f"{moved:,} bytes went through this host while it served one client, which may move "
            f"{format_bytes(limits.bytes)}: measure less at a time, or start the server with "
            "--max-bytes"
        )
    if rate_bytes_per_s > limits.rate_bytes_per_s:
        raise RefusedError(
            f"{8 * rate_bytes_per_s / 1e6:,.1f} Mbit/s went through this host, and a client may "
            f"cause {8 * limits.rate_bytes_per_s / 1e6:g}: send less with --rate, or start the "
            "server with --max-rate"
        )


def check_used(limits: Limits, used: InUse) -> None:
    """Raises RefusedError where a client's processes have more together than it may."""
    if used.memory_bytes > limits.memory_bytes:
        raise RefusedError(
            f"this client's processes have {used.memory_bytes:,} bytes of memory together, with "
            f"the files that they left in it, and may have {format_bytes(limits.memory_bytes)}: "
            "measure fewer cases at a time, with --lone for example, or start the server with "
            "--max-memory"
        )
    if used.connections > limits.connections:
        raise RefusedError(
            f"this client's processes have {used.connections:,} connections together, and may have "
            f"{limits.connections:,}: measure fewer cases at a time, with --lone for example, or "
            "start the server with --max-connections"
        )
