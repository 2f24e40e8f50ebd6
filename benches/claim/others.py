"""Which share of the cores' time others had while the grid was measured."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

from tinygram_bench.model.value import Value

_STAT = Path("/proc/stat")
_IDLE, _IO_WAIT, _STOLEN = 3, 4, 7
"""Columns of proc_stat(5); the first is time of users."""
_GUESTS = 8
"""From here on they are in the first ones, too."""


class Others(Value, frozen=True):
    """Shares of all cores' time: other programs', and what other machines of the host took."""

    programs: float
    machines: float


@dataclass(frozen=True)
class CoresTime:
    """Seconds of all cores, up to now; `own`: those of this program and its ended children."""

    wall: float
    busy: float
    stolen: float
    own: float

    @staticmethod
    def now() -> CoresTime:
        """What the kernel tells now. Raises OSError where there is no /proc."""
        ticks = [int(word) for word in _STAT.read_text().split("\n", 1)[0].split()[1:]]
        tick_s = 1 / os.sysconf("SC_CLK_TCK")
        idle = ticks[_IDLE] + ticks[_IO_WAIT] + ticks[_STOLEN]
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return CoresTime(
            wall=time.monotonic() * (os.cpu_count() or 1),
            busy=(sum(ticks[:_GUESTS]) - idle) * tick_s,
            stolen=ticks[_STOLEN] * tick_s,
            own=sum(each.ru_utime + each.ru_stime for each in used),
        )

    def others_since(self, earlier: CoresTime) -> Others | None:
        """What others had meanwhile, of children that ended meanwhile; None: no time has passed."""
        wall = self.wall - earlier.wall
        if wall <= 0:
            return None
        programs = (self.busy - earlier.busy) - (self.own - earlier.own)
        return Others(max(0.0, programs / wall), (self.stolen - earlier.stolen) / wall)
