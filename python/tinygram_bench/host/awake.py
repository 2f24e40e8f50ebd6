"""Keeps cores from sleeping, so that sending is measured, and not waking up.

A core with nothing to do halts, and takes 5 to 200 µs to come back: in a virtual machine the host
has to give it back first. That time is in every latency of a load that leaves a core idle, and is
far longer than the differences between strategies. Linux's PM QoS keeps idle cores polling instead:
a CPU latency limit of 0 µs, for as long as /dev/cpu_dma_latency is open
(Documentation/power/pm_qos_interface).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_DEVICE = Path("/dev/cpu_dma_latency")
_NO_LATENCY = (0).to_bytes(4, "little")


@contextmanager
def cores_awake(device: Path = _DEVICE) -> Iterator[bool]:
    """Keep all cores awake during the block. Yields whether that was permitted: only root may."""
    with ExitStack() as stack:
        try:
            stack.enter_context(device.open("r+b", buffering=0)).write(_NO_LATENCY)
        except OSError:
            yield False
            return
        yield True
