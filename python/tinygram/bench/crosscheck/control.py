"""The congestion control that peers can be given, and so ours have, too."""

from __future__ import annotations

from tinygram.bench.errors import UsageError
from tinygram.bench.network import (
    DEFAULT_CONGESTION_CONTROL,
    own_congestion_control,
    private_network,
    set_congestion_control,
)


def common_congestion_control(asked: str | None) -> str:
    """`asked`; without it the default, or the network's own where peers cannot be given that.

    Raises UsageError where they cannot be given `asked`.
    """
    wanted = asked or DEFAULT_CONGESTION_CONTROL
    with private_network() as network, network.entered():
        if not network.is_private:
            return wanted
        own = own_congestion_control()
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
