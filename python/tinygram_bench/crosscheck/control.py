"""The congestion control that peers can be given, and that our own cases therefore have, too."""

from __future__ import annotations

from tinygram_bench.host.network import private_network
from tinygram_bench.host.network.settings import (
    own_congestion_control,
    permitted_congestion_control,
    set_congestion_control,
)
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import UNPACED_CONGESTION_CONTROLS


def common_congestion_control(asked: str | None) -> str:
    """`asked`; without it the first of CUBIC, Reno and the network's own that peers can be given.

    What is asked for, or CUBIC, is one that this kernel gives a socket. Raises UsageError where
    peers cannot be given what is asked for.
    """
    with private_network() as network, network.entered():
        if not network.is_private:
            return permitted_congestion_control(asked)
        own = own_congestion_control()
        wanted = UNPACED_CONGESTION_CONTROLS if asked is None else (asked,)
        given = (name for name in wanted if _can_have(name))
        control = next(given, None if asked else own)
    if control is None:
        raise UsageError(
            f"--cross-check with --congestion-control {asked}: this kernel denies it to other "
            "programs in a private network; leave it out, and all get one that they can have"
        )
    return control


def _can_have(name: str) -> bool:
    try:
        set_congestion_control(name)
    except PermissionError:
        return False
    return True
