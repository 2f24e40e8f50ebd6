"""The part of the stub of `_native` that `watch` needs (crates/load/src/diag); not a module.

What is found of sockets, by sock_diag(7) or in /proc/net/tcp, is (connections, listeners, how many
more there are). Each is a dict, with None for what is not known: the fields of `Connection` and
`Listener` in tinygram_bench.host.probes.sockets.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Any, TypeAlias, final

_Found: TypeAlias = tuple[list[dict[str, Any]], list[dict[str, Any]], int]

@final
class SocketDiag:
    """Asks the kernel over netlink, in the network namespace in which it was made.

    `fd`: over this socket (AF_NETLINK, NETLINK_SOCK_DIAG), in the namespace in which that was made.
    OSError when there is no sock_diag here, or `fd` is no socket. After an error make another one.
    """

    def __new__(cls, fd: int | None = None) -> SocketDiag: ...
    def sockets(self, port: int | None = None, inodes: Sequence[int] | None = None) -> _Found:
        """The sockets that have `port` at either end and one of these `inodes`; 16,384 at most.

        OSError: what the kernel says, an answer that is none, or no answer.
        """

def proc_sockets(
    directory: str | PathLike[str], port: int | None = None, inodes: Sequence[int] | None = None
) -> _Found:
    """The same from `tcp` and `tcp6` in `directory`, such as /proc/self/net. OSError."""

def socket_options(pid: int, fd: int, inode: int) -> tuple[bool, bool] | None:
    """(TCP_NODELAY, TCP_CORK) of socket `inode`, which a process has as `fd`; None: no longer.

    OSError: EPERM where that process may not be traced, ESRCH and EBADF when it or its descriptor
    is gone.
    """

@final
class SocketProbe:
    """Samples what the kernel holds of the IPv4 connections to `port`, beside a run.

    A thread without Python does so, in the network namespace in which this was made. OSError: see
    `SocketDiag`.
    """

    def __new__(cls, port: int, interval_ns: int) -> SocketProbe: ...
    def stop(self) -> tuple[int, int, list[tuple[str, list[int]]], str | None]:
        """(interval in ns, its own CPU time in ns, columns by name, why it ended early or None).

        512 samples at most: where there are more, every other one is left out and the interval
        doubles. RuntimeError at a second call.
        """
