"""What the kernel knows of the far ends of a process's connections that stay on this machine.

A server may be in another network namespace, and is asked for there (sock_diag(7)).
"""

from __future__ import annotations

from tinygram_bench import _native
from tinygram_bench.host.network import Network
from tinygram_bench.host.probes.owners import sockets_of


def congestion_controls(pid: int, port: int, near: Network, far: Network) -> tuple[str, ...]:
    """The congestion controls of the far ends of a process's connections to `port`, sorted.

    Empty where they are not known: the far ends are on another machine or behind an address
    translation, or the kernel tells nothing.
    """
    try:
        with near.entered():
            near_ends = _native.SocketDiag().sockets(port, list(sockets_of(pid)))[0]
        with far.entered():
            far_ends = _native.SocketDiag().sockets(port)[0]
    except OSError:
        return ()
    ours = {(end["local"], end["remote"]) for end in near_ends}
    names = {end["congestion_control"] for end in far_ends if (end["remote"], end["local"]) in ours}
    return tuple(sorted(name for name in names if name is not None))
