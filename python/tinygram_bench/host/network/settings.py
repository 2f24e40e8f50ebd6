"""Kernel settings of connections in the calling thread's network.

They are congestion control, and whether connections keep their window at rest.
"""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import ALLOWED_SYSCTL, UNPACED_CONGESTION_CONTROLS

_CONGESTION_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_RESTARTS = Path("/proc/sys/net/ipv4/tcp_slow_start_after_idle")
_ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def own_congestion_control() -> str:
    """The default congestion control in the calling thread's network."""
    return _CONGESTION_CONTROL.read_text().strip()


def set_congestion_control(name: str) -> None:
    """Set the default congestion control of the calling thread's network, which must be private.

    Most programs use the network's default. Raises PermissionError where the kernel denies this one
    to networks other than the host's (tcp_allowed_congestion_control), or where /proc/sys is
    read-only, as in most containers.
    """
    try:
        _CONGESTION_CONTROL.write_text(name)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        raise PermissionError(errno.EACCES, "/proc/sys may only be read here") from error


def keep_windows() -> bool:
    """Have connections of the calling thread's network keep their congestion window at rest.

    Otherwise the window starts anew after a rest that is longer than the retransmission timeout
    (RFC 2861). The network must be private. False where that is not permitted.
    """
    try:
        _RESTARTS.write_text("0")
    except OSError:
        return _RESTARTS.read_text().strip() == "0"
    return True


def permitted_congestion_control(asked: str | None, *, is_elsewhere: bool = False) -> str:
    """The congestion control of the sockets of both sides, in every case.

    That is `asked`, or without it the first of CUBIC and Reno that this user may have, and every
    user where one side `is_elsewhere`, on a host whose server has no rights; or else the network's
    default. Raises UsageError where the result is unknown or not permitted.
    """
    if asked is None:
        for name in UNPACED_CONGESTION_CONTROLS:
            if _refusal(name) is None and (
                not is_elsewhere or name in allowed_congestion_controls()
            ):
                return name
        asked = own_congestion_control()
    check_congestion_control(asked)
    return asked


def check_congestion_control(name: str) -> None:
    """Raises UsageError unless the kernel gives a socket of this user this congestion control."""
    refusal = _refusal(name)
    if refusal is None:
        return
    if refusal == errno.EPERM:
        allowed = allowed_congestion_controls()
        raise UsageError(
            f"the kernel denies this user the congestion control {name!r}, and permits "
            f"{', '.join(allowed)}: name one with --congestion-control, run it as root, or permit "
            f'it with `sysctl -w {ALLOWED_SYSCTL}="{" ".join([*allowed, name])}"`'
        )
    raise UsageError(
        f"the kernel has no congestion control {name!r} ({os.strerror(refusal)}), but "
        f"{', '.join(_names(_AVAILABLE))}: name one with --congestion-control"
    )


def allowed_congestion_controls() -> list[str]:
    """The congestion controls that users without rights may choose."""
    return _names(_ALLOWED)


def _refusal(name: str) -> int | None:
    """The errno with which the kernel refuses a socket this congestion control; None: none."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, os.fsencode(name))
        except OSError as error:
            return error.errno or errno.EINVAL
    return None


def _names(setting: Path) -> list[str]:
    return setting.read_text().split()
