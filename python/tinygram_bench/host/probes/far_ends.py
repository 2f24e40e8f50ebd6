"""What the kernel knows of the far ends of this process's connections, if they are on this machine.

A server's host may be another network namespace: who is to ask there gets a netlink socket that was
opened there (sock_diag(7)), for which no right to enter is needed.
"""

from __future__ import annotations

import os
import socket

from tinygram_bench import _native
from tinygram_bench.host.network import Network
from tinygram_bench.host.probes.owners import sockets_of

_NETLINK_SOCK_DIAG = 4


def open_diag(host: Network) -> socket.socket | None:
    """A socket to the kernel's sock_diag of `host`; None where this kernel has none."""
    try:
        with host.entered():
            return socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG)
    except OSError:
        return None


def congestion_controls(port: int, diag_fd: int | None) -> tuple[str, ...]:
    """What the far ends of this process's connections to `port` go under, each name once, sorted.

    `diag_fd`: what `open_diag` opened on the far host. Empty where that is not known: the far ends
    are on another machine, behind an address translation, or the kernel tells nothing.
    """
    if diag_fd is None:
        return ()
    try:
        near = _native.SocketDiag().sockets(port, list(sockets_of(os.getpid())))[0]
        far = _native.SocketDiag(diag_fd).sockets(port)[0]
    except OSError:
        return ()
    ours = {(each["local"], each["remote"]) for each in near}
    names = {each["congestion_control"] for each in far if (each["remote"], each["local"]) in ours}
    return tuple(sorted(name for name in names if name is not None))
