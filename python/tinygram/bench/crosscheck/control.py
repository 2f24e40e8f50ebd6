"""The congestion control that peers can be given, and so ours have, too."""

from __future__ import annotations

from pathlib import Path

from tinygram.bench.errors import UsageError
from tinygram.bench.network import DEFAULT_CONGESTION_CONTROL, private_network

_OF_NETWORK = Path("/proc/sys/net/ipv4/tcp_congestion_control")


def set_congestion_control(name: str) -> None:
    """Give it to what starts in the calling thread's network, which must be a private one.

    Most programs take the one that is the network's own. Raises PermissionError where the kernel
    keeps it from networks that are not the host's (tcp_allowed_congestion_control).
    """
    _OF_NETWORK.write_text(name)


def common_congestion_control(asked: str | None) -> str:
    """`asked`; without it the default, or the network's own where peers cannot be given that.

    Raises UsageError where they cannot be given `asked`.
    """
    wanted = asked or DEFAULT_CONGESTION_CONTROL
    with private_network() as network, network.entered():
        if not network.is_private:
            return wanted
        own = _OF_NETWORK.read_text().strip()
        try:
            set_congestion_control(wanted)
        except PermissionError as error:
            if asked is None:
                return own
            raise UsageError(
                f"--cross-check with --congestion-control {asked}: this kernel keeps it from other "
                f"programs in a private network; without the option all have {own}"
            ) from error
    return wanted
