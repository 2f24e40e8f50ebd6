"""The hosts that a command line names, in `--server HOST[:PORT]` for example."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

_HOST = re.compile(r"\[?([0-9A-Fa-f:]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.%\w]*|[\w.\-]+)")
"""The host of HOST, HOST:PORT, [IPv6]:PORT or a bare IPv6 address."""


def hosts_named(command: Sequence[str], options: Collection[str]) -> Iterator[str]:
    """The hosts that these options name, without a port."""
    words = [part for word in command for part in word.split("=", 1)]
    for option, value in pairwise(words):
        found = _HOST.match(value) if option in options else None
        if found is not None:
            yield found[1]
