"""`loopback`: nothing between the ends, which are in one network; `tinygram`'s default."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tinygram_bench.host.network import drawn_host, private_network
from tinygram_bench.host.network.connections import Known
from tinygram_bench.links.link import Link
from tinygram_bench.links.sandbox import Permission
from tinygram_bench.links.spec import LinkSpec


def probe() -> Permission:
    """Always permitted: every machine has loopback."""
    return Permission(True, "in a network of its own where that is permitted")


@contextmanager
def up(_spec: LinkSpec, _seed: int) -> Iterator[Link]:
    """A network of the run's own, or the host's where that is not permitted."""
    with private_network() as network:
        if network.is_private:
            yield Link(network, network, counter_fds=(), counter_fds_of_far=())
        else:
            yield Link(network, network, client=Known(drawn_host()))
