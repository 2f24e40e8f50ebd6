"""The machine's noise floor: what `tinygram trust` could tell apart here, kept for a day.

It is a file of the user's; other results take what it says along, so that whoever reads them knows
what the machine resolved.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from tinygram_bench.model import store
from tinygram_bench.model.value import Value

_KEPT_FOR = timedelta(days=1)


class NoiseFloor(Value, frozen=True):
    """What was resolved: load → figure → half the width of the interval, as a share.

    `measured_at`: UTC, as ISO 8601 has it. `boot_id`: the kernel's number for this start of the
    machine (random(4)). `pair_s`: how long two cases were compared, in s.
    """

    measured_at: str
    boot_id: str
    confidence: float
    pair_s: float
    resolved: dict[str, dict[str, float]]


def boot_id() -> str:
    """The kernel's number for this start of the machine; empty where it tells none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def path() -> Path:
    """Where it is kept. Raises RuntimeError where the user has no home."""
    cache = os.environ.get("XDG_CACHE_HOME")
    folder = Path(cache) if cache else Path.home() / ".cache"
    return folder / "tinygram" / "noise-floor.json"


def keep(floor: NoiseFloor) -> None:
    """Keep it, in place of an earlier one. Raises OSError and RuntimeError."""
    at = path()
    at.parent.mkdir(parents=True, exist_ok=True)
    store.replace(at, msgspec.json.format(msgspec.json.encode(floor), indent=2) + b"\n")


def recent(now: datetime | None = None) -> NoiseFloor | None:
    """What was kept on this machine within the last day, since it was started.

    None: nothing that can be read.
    """
    try:
        floor = msgspec.json.decode(path().read_bytes(), type=NoiseFloor)
        age = (now or datetime.now(UTC)) - datetime.fromisoformat(floor.measured_at)
    except (OSError, RuntimeError, ValueError, TypeError):
        return None
    is_ours = floor.boot_id == boot_id() != ""
    return floor if is_ours and timedelta() <= age <= _KEPT_FOR else None
