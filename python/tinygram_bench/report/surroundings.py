"""What a reader must know of where a result was measured, whichever case the figure is of."""

from __future__ import annotations

from collections.abc import Iterator

from tinygram_bench.model.congestion_control import ALLOWED_SYSCTL, DEFAULT_CONGESTION_CONTROL
from tinygram_bench.model.result import Result

_OPTION = "--congestion-control"


def surroundings_of(result: Result) -> tuple[str, ...]:
    """A sentence for each thing; empty where all is as usual."""
    return (*_cpu_quota(result), *_congestion_control(result))


def _cpu_quota(result: Result) -> Iterator[str]:
    cores = result.environment.get("cpu_quota_cores")
    if cores is not None:
        yield (
            f"A CPU quota lets all processes of the measurement use {cores:g} cores together "
            "(cpu.max of their control group): what needs more is stopped for a while, and the "
            "figures hold for this quota."
        )


def _congestion_control(result: Result) -> Iterator[str]:
    """Which one took the usual one's place, without being asked for."""
    control = result.environment.get("congestion_control")
    if control in (None, DEFAULT_CONGESTION_CONTROL):
        return
    if any(word.split("=")[0] == _OPTION for word in result.command):
        return
    allowed = (result.environment.get("sysctls") or {}).get(ALLOWED_SYSCTL)
    yield (
        f"Both sides have the congestion control {control} in every case: the kernel does not "
        f"permit this user the usual one, {DEFAULT_CONGESTION_CONTROL} "
        f"({ALLOWED_SYSCTL}: {allowed or 'not known'})."
    )
