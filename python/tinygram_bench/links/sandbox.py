"""A PID namespace of the command's own, where links may be made and nothing outlives the command.

`enter` goes on in it, as a child: when the command or PID 1 is killed, all other processes end, and
with the last of them the namespaces and devices. A user other than root gets a user namespace too,
with an empty network; the machine's own network is out of reach from then on.
"""

from __future__ import annotations

import errno
import os
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from tinygram_bench import _native
from tinygram_bench.links.hosts import choose_addresses
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Warning


class Permission(Struct, frozen=True):
    """A probe's outcome: whether something is permitted, why or how, and what would permit it."""

    is_given: bool
    why: str
    remedy: str = ""


class _State(Struct):
    """The namespaces that this process has entered."""

    is_entered: bool = False
    is_rootless: bool = False
    has_own_proc: bool = True


_STATE = _State()


def enter() -> None:
    """Go on in namespaces of our own, only once. Raises UsageError where that is not permitted.

    Call this from the main thread, before any other is started, and with all output flushed.
    """
    if _STATE.is_entered:
        return
    permission = probe()
    if not permission.is_given:
        raise UsageError(f"no link can be made here: {permission.why}; {permission.remedy}")
    try:
        choose_addresses()
        is_rootless = _native.pid_namespace_refusal(False) is not None
        has_own_proc = _native.enter_pid_namespace(is_rootless)
    except OSError as error:
        raise UsageError(f"no link can be made here: {error}; {_REMEDY}") from error
    _STATE.is_entered, _STATE.is_rootless, _STATE.has_own_proc = True, is_rootless, has_own_proc


def is_rootless() -> bool:
    """Whether this process got its rights from a user namespace of its own."""
    return _STATE.is_rootless


def has_own_proc() -> bool:
    """Whether this process's pids are those of /proc."""
    return _STATE.has_own_proc


@lru_cache(maxsize=1)
def probe() -> Permission:
    """Whether `enter` is permitted; tried in a child that ends at once."""
    if _native.pid_namespace_refusal(False) is None:
        return Permission(True, "namespaces, as root")
    refusal_errno = _native.pid_namespace_refusal(True)
    if refusal_errno is None:
        return Permission(True, "namespaces within a user namespace, without root")
    return _refused(refusal_errno, Path("/"))


_REMEDY = (
    "run it as root, or where user namespaces are permitted; in a container, with "
    "--cap-add SYS_ADMIN --cap-add NET_ADMIN --device /dev/net/tun --security-opt "
    "apparmor=unconfined"
)
_SWITCHES = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("user/max_user_namespaces", "0", "10000"),
    ("user/max_net_namespaces", "0", "10000"),
    ("user/max_pid_namespaces", "0", "10000"),
)
"""Settings below /proc/sys, each with the value that refuses, and one that permits."""


def _refused(number: int, root: Path) -> Permission:
    """The refusal, with the setting below `root` that is its reason, if one is."""
    for path, refusing, permitting in _SWITCHES:
        try:
            value = (root / "proc/sys" / path).read_text().strip()
        except OSError:
            continue
        if value == refusing:
            name = path.replace("/", ".")
            return Permission(
                False,
                f"{name} is {value}, which refuses user namespaces",
                f"permit them with `sysctl -w {name}={permitting}`, or run it as root",
            )
    named = errno.errorcode.get(number, str(number))
    return Permission(
        False, f"the kernel refuses namespaces ({named}, {os.strerror(number)})", _REMEDY
    )


def sandbox_warnings() -> tuple[Warning, ...]:
    """The warnings about the namespaces in which the link is."""
    if has_own_proc():
        return ()
    return (
        Warning(
            "proc_of_host",
            "the run's processes are not those of /proc here: context switches of a sender's child "
            "processes are not known",
        ),
    )
