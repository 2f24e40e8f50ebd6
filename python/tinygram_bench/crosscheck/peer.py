"""Another program as a peer: how it is started, how its output is read, what its figure means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

HOST = "127.0.0.1"


class Work(Struct, frozen=True):
    """The work that a program is given: send messages, or call, for whole `seconds`.

    `data_port` is for programs that use one port to agree and another one to send.
    """

    message_bytes: int
    seconds: int
    port: int
    data_port: int
    congestion_control: str


class Reading(Struct, frozen=True):
    """What an output tells: the figure, and over how many messages (None: it does not say)."""

    value: float
    messages: int | None


Words = Callable[[Work], list[str]]


class Setting(Struct, frozen=True):
    """One way in which a program does the work of our native case with `strategy`.

    `figure` names our figure that `read` finds theirs of, in the same unit; it raises ValueError
    where the output has none. The rest is for people: what becomes of a message's write, what the
    figure counts, and what the program does otherwise.
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
    """A program, which is also the name of its Debian package.

    `sizes`: the smallest and the largest message, in bytes. `settings`: workload → ways; a workload
    that is not there is one that it does not do. `listens_everywhere`: its server cannot be told to
    listen on loopback alone.
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
    """The number that `pattern` finds; commas may stand in it. Raises ValueError."""
    match = re.search(pattern, output)
    if match is None:
        raise ValueError(f"its output has no {what}")
    return float(match[1].replace(",", ""))
