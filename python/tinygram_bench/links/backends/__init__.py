"""The backends, which make links: one file each, with `probe()` and `up(spec, seed)`.

To add one, write a module with both, and add its line to `BACKENDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from msgspec import Struct

from tinygram_bench.links.backends import loopback, netem, relay, veth
from tinygram_bench.links.link import Link
from tinygram_bench.links.sandbox import Permission
from tinygram_bench.links.spec import LinkSpec


class Backend(Struct, frozen=True):
    """`probe` tries, in a throwaway namespace, what `up` needs; `up` raises OSError or RunError.

    `up(spec, seed)`: a link for the length of a `with` block; `seed` is for its losses and jitter,
    and netem ignores it.
    """

    name: str
    probe: Callable[[], Permission]
    up: Callable[[LinkSpec, int], AbstractContextManager[Link]]


RELAY = Backend("relay", relay.probe, relay.up)
NETEM = Backend("netem", netem.probe, netem.up)
VETH = Backend("veth", veth.probe, veth.up)
LOOPBACK = Backend("loopback", loopback.probe, loopback.up)
BACKENDS = {each.name: each for each in (RELAY, NETEM, VETH, LOOPBACK)}
EMULATING = (RELAY.name, NETEM.name)
"""The backends that have delay, bandwidth and loss."""
