"""The network of a run's connection: a namespace of its own where that is permitted.

The kernel's counters then have no other traffic, and no port is taken. The namespace is held only
by descriptors: it ends with its last process, also after a kill.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from msgspec import Struct

from tinygram_bench import _native
from tinygram_bench.processes.interrupts import INTERRUPTS

_NOT_HERE = (errno.EPERM, errno.ENOSPC, errno.EINVAL, errno.ENOSYS, errno.ENOENT)
"""Errors without the capability, at user.max_net_namespaces, or without kernel support."""


class Network(Struct, frozen=True):
    """A network in which processes are started; `home` and `inside` are None for the host's own."""

    home: int | None = None
    inside: int | None = None

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Have processes that the block starts begin in this network; it is not interrupted."""
        with INTERRUPTS.held():
            if self.home is None or self.inside is None:
                yield
                return
            _native.enter_network_namespace(self.inside)
            try:
                yield
            finally:
                _native.enter_network_namespace(self.home)

    @property
    def is_private(self) -> bool:
        """Whether the network has no other traffic."""
        return self.inside is not None


def drawn_host() -> str:
    """A random one of the 2²⁴ addresses of loopback, except those that other programs may use."""
    # Imported only here: most processes that import this module draw none.
    import secrets

    return ".".join(["127", *(str(2 + secrets.randbelow(253)) for _ in range(3))])


def is_own_address(host: str) -> bool:
    """Whether `host` is an address of the calling thread's network, reached over loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True


@contextmanager
def own_network() -> Iterator[Network]:
    """A network that nobody else is in. Raises OSError where that is not permitted."""
    home, inside = _native.create_network_namespace()
    try:
        yield Network(home, inside)
    finally:
        os.close(home)
        os.close(inside)


@contextmanager
def private_network() -> Iterator[Network]:
    """A network of the run's own; the host's where that is not permitted."""
    with ExitStack() as stack:
        try:
            network = stack.enter_context(own_network())
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
            network = Network()
        yield network
