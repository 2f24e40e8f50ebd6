"""Reads what the kernel holds of a target, again and again.

It asks sock_diag in the target's network namespace; where that is not available, it reads
/proc/net/tcp, which tells less. A socket's process is found in /proc/PID/fd, and the socket's
options are read by pidfd_getfd(2), where that is permitted.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tinygram_bench import _native
from tinygram_bench.host.network import Network
from tinygram_bench.host.probes.owners import name_of, owners_of, sockets_of
from tinygram_bench.host.probes.sockets import Connection, Listener, Owner, Snapshot
from tinygram_bench.model.errors import UsageError
from tinygram_bench.watch.targets import Target

SOCK_DIAG = "sock_diag"
PROC = "/proc/net/tcp"
MAX_OPTIONS = 1_024
"""The most connections whose options are asked for at once."""

_OWN_NETWORK = "/proc/thread-self/ns/net"
_Told = dict[str, Any]
_Options = tuple[bool | None, bool | None]


class TargetEndedError(Exception):
    """The process that was watched has ended."""


class Reader:
    def __init__(self, target: Target) -> None:
        self.target = target
        self._diag: _native.SocketDiag | None = None
        self._refusals: dict[str, str] = {}
        self._owners: dict[int, Owner | None] = {}

    def read(self) -> Snapshot:
        """A snapshot of what the kernel holds now.

        Raises TargetEndedError, and UsageError when this process may not look at the target.
        """
        pid = self.target.pid
        own = None if pid is None else _own_sockets(pid)
        at_ns = time.monotonic_ns()
        connections, listeners, left_out = self._held(None if own is None else list(own))
        inodes = [told["inode"] for told in (*connections, *listeners)]
        if pid is None or own is None:
            self._find_owners(inodes)
        else:
            name = name_of(pid)
            self._owners = {inode: Owner(pid, name, fd) for inode, fd in own.items()}
        return Snapshot(
            at_ns,
            PROC if SOCK_DIAG in self._refusals else SOCK_DIAG,
            tuple(self._connections(connections)),
            tuple(self._listener(told) for told in listeners),
            left_out,
            tuple(self._refusals.values()),
        )

    def _held(self, inodes: list[int] | None) -> tuple[list[_Told], list[_Told], int]:
        """Ask sock_diag until that fails once; from then on read /proc."""
        port, pid = self.target.port, self.target.pid
        if SOCK_DIAG not in self._refusals:
            try:
                if self._diag is None:
                    with _network_of(pid):
                        self._diag = _native.SocketDiag()
                return self._diag.sockets(port, inodes)
            except OSError as error:
                self._diag = None
                self._refusals[SOCK_DIAG] = (
                    f"sock_diag is not available here ({_reason(error)}): {PROC} tells only the "
                    "queues, the timer and the congestion window, and no backlog"
                )
        directory = "/proc/thread-self/net" if pid is None else f"/proc/{pid}/net"
        try:
            return _native.proc_sockets(directory, port, inodes)
        except OSError as error:
            if pid is not None and not os.path.exists(f"/proc/{pid}"):
                raise _ended(pid) from error
            raise UsageError(
                f"neither sock_diag nor {directory}/tcp can be read here ({_reason(error)}): run "
                "it where /proc is mounted, as root for another user's process"
            ) from error

    def _find_owners(self, inodes: Collection[int]) -> None:
        """Look for the owners of new sockets; None: not found, and not searched for again."""
        present = set(inodes) - {0}
        known = {inode: owner for inode, owner in self._owners.items() if inode in present}
        unknown = present - known.keys()
        self._owners = known | dict.fromkeys(unknown) | (owners_of(unknown) if unknown else {})

    def _connections(self, connections: Sequence[_Told]) -> Iterator[Connection]:
        for index, told in enumerate(connections):
            owner = self._owners.get(told["inode"])
            options: _Options = (None, None)
            if owner is not None and index < MAX_OPTIONS:
                options = self._options(owner, told["inode"])
            is_nodelay, is_corked = options
            yield Connection(**told, owner=owner, is_nodelay=is_nodelay, is_corked=is_corked)

    def _listener(self, told: _Told) -> Listener:
        return Listener(**told, owner=self._owners.get(told["inode"]))

    def _options(self, owner: Owner, inode: int) -> _Options:
        """TCP_NODELAY and TCP_CORK; None where the owner may not be asked, or has closed it."""
        try:
            return _native.socket_options(owner.pid, owner.fd, inode) or (None, None)
        except (ProcessLookupError, FileNotFoundError):
            return None, None
        except OSError as error:
            if error.errno != errno.EBADF:
                self._refusals.setdefault(
                    "options",
                    f"TCP_NODELAY and TCP_CORK of {owner.name} may not be read "
                    f"({_reason(error)}): it takes the right to trace it, which root has",
                )
            return None, None


def _own_sockets(pid: int) -> dict[int, int]:
    try:
        return sockets_of(pid)
    except ProcessLookupError as error:
        raise _ended(pid) from error
    except PermissionError as error:
        raise UsageError(
            f"the descriptors of process {pid} cannot be read ({_reason(error)}): run it as that "
            "process's user, or as root"
        ) from error


def _ended(pid: int) -> TargetEndedError:
    return TargetEndedError(f"process {pid} has ended")


@contextmanager
def _network_of(pid: int | None) -> Iterator[None]:
    """In the network namespace of a process. Raises OSError where this process may not go there."""
    if pid is None or _is_same(_OWN_NETWORK, f"/proc/{pid}/ns/net"):
        yield
        return
    home = os.open(_OWN_NETWORK, os.O_RDONLY)
    try:
        inside = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        try:
            with Network(home, inside).entered():
                yield
        finally:
            os.close(inside)
    finally:
        os.close(home)


def _is_same(one: str, other: str) -> bool:
    return os.path.samestat(os.stat(one), os.stat(other))


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
