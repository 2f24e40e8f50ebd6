"""The share of CPU time that other virtual machines on the host took (proc_stat(5): `steal`)."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

_STEAL = 7
_GUEST = 8
"""The columns from here on are already counted in others."""


class CpuTime(Struct, frozen=True):
    """Ticks of all cores since boot: the stolen ones, and all together."""

    stolen: int
    all: int

    def stolen_share_since(self, earlier: CpuTime) -> float | None:
        """The stolen share since `earlier`, 0 … 1; None where no tick has passed."""
        ticks = self.all - earlier.all
        return (self.stolen - earlier.stolen) / ticks if ticks > 0 else None


def cpu_time(root: Path = Path("/")) -> CpuTime | None:
    """The CPU time so far; None where it is not known. `root` stands for the file system."""
    try:
        name, *columns = (root / "proc/stat").read_text().partition("\n")[0].split()
        ticks = [int(each) for each in columns[:_GUEST]]
        return CpuTime(ticks[_STEAL], sum(ticks)) if name == "cpu" else None
    except (OSError, ValueError, IndexError):
        return None
