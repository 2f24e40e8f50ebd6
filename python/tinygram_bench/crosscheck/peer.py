"""Another program as a peer: how to start it and read its output, and what its figure means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

HOST = "127.0.0.1"


class Work(Struct, frozen=True):
    """The work that a program is given: to send messages, or to call, for whole `seconds`.

    `data_port` is for programs that use one port for control and another for the messages.
    """

    message_bytes: int
    seconds: int
    port: int
    data_port: int
    congestion_control: str


class Reading(Struct, frozen=True):
    """What an output tells: the figure, and the number of messages it is over (None: not told)."""

    value: float
    messages: int | None


Words = Callable[[Work], list[str]]


class Setting(Struct, frozen=True):
    """One way in which a program does the work of our native case with `strategy`.

    `figure` names our figure; `read` finds the program's counterpart in its output, in the same
    unit, and raises ValueError where there is none. The rest is for people: what becomes of a
    message's write, what the figure counts, and what the program does differently.
    """

    name: str
    strategy: str
    figure: str
    server: Words
    client: Words
    read: Callable[[str, Work], Reading]
    batching: str
    meaning: str
    differences: tuple[str, ...]


class Program(Struct, frozen=True):
    """A program; its name is also that of its Debian package.

    `sizes`: the smallest and the largest message, in bytes. `settings`: workload → ways; the
    program does not do a workload that is missing here. `listens_everywhere`: its server cannot be
    told to listen on loopback only.
    """

    name: str
    version_option: str
    sizes: tuple[int, int]
    settings: Mapping[str, tuple[Setting, ...]]
    listens_everywhere: bool = False


NAGLE = "one write for a message, with Nagle: the kernel joins writes while others are in flight"
NODELAY = "one write for a message, with TCP_NODELAY: each may leave as a segment of its own"
READS_SINGLY = "its server reads one message at a time; ours as much as there is, up to 256 KiB"
CHECKS_NOTHING = "it does not look at the bytes; ours compares each one, after it took the time"


def number_in(pattern: str, output: str, what: str) -> float:
    """The number that `pattern` finds, which may have commas. Raises ValueError without one."""
    match = re.search(pattern, output)
    if match is None:
        raise ValueError(f"its output has no {what}")
    return float(match[1].replace(",", ""))
