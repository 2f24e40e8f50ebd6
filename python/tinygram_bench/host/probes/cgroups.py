"""The CPU quota of this process's control group, and how often it stopped the group.

It is read in version 2 (`cpu.max`) and version 1 (`cpu.cfs_quota_us`), for the group and those
around it: a container's quota is often that of a group above. What cannot be read counts as no
quota.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

_NOT_READABLE = (OSError, ValueError)
_MOUNTS = {
    1: ("sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"),
    2: ("sys/fs/cgroup", "sys/fs/cgroup/unified"),
}
"""Version → where systems mount its control groups, below the file system's root."""


class Throttling(Struct, frozen=True):
    """How often groups with a quota were stopped so far, and for how long, in ns."""

    periods: int
    stopped_ns: int

    def since(self, before: Throttling) -> Throttling:
        return Throttling(self.periods - before.periods, self.stopped_ns - before.stopped_ns)


def cpu_quota_cores(root: Path = Path("/")) -> float | None:
    """How many cores' time this process and its children may use together; None: no quota.

    `root` stands for the file system in tests.
    """
    quotas = (_quota_cores(group) for group in _groups(root))
    return min((quota for quota in quotas if quota is not None), default=None)


def throttling(root: Path = Path("/")) -> Throttling | None:
    """The sum over all groups with a quota; None where none has a quota that can be read."""
    found = [_throttling(group) for group in _groups(root) if _quota_cores(group) is not None]
    readable = [each for each in found if each is not None]
    if not readable:
        return None
    return Throttling(
        sum(each.periods for each in readable), sum(each.stopped_ns for each in readable)
    )


def _groups(root: Path) -> Iterator[Path]:
    """The folders of this process's groups, and of groups around them, as far as they are visible.

    A container may see its own group as the whole, whatever its path outside.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except _NOT_READABLE:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        version = 1 if controllers else 2
        if version == 1 and "cpu" not in controllers.split(","):
            continue
        inside = Path(path.lstrip("/"))
        # Each mount may be a link to another one.
        for mount in {(root / mount).resolve() for mount in _MOUNTS[version]}:
            for group in (inside, *inside.parents):
                if (mount / group / "cpu.stat").exists():
                    yield mount / group


def _quota_cores(group: Path) -> float | None:
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text().split()
            return None if quota == "max" else int(quota) / int(period)
        quota_us = int((group / "cpu.cfs_quota_us").read_text())
        return None if quota_us < 0 else quota_us / int((group / "cpu.cfs_period_us").read_text())
    except _NOT_READABLE:
        return None


def _throttling(group: Path) -> Throttling | None:
    try:
        lines = (group / "cpu.stat").read_text().splitlines()
        counts = {name: int(count) for name, count in map(str.split, lines)}
        stopped_ns = counts.get("throttled_time", 1_000 * counts.get("throttled_usec", 0))
        return Throttling(counts["nr_throttled"], stopped_ns)
    except (*_NOT_READABLE, LookupError):
        return None
