"""The machine's noise floor: what `tinygram trust` could tell apart here, kept for a day.

It is in a file of the user; other results include what it says, so that their readers know what the
machine resolved.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from tinygram_bench.host.probes.environment import facts_named
from tinygram_bench.model import store
from tinygram_bench.model.value import Value

_KEPT_FOR = timedelta(days=1)
_TOLD_APART_BY = ("architecture", "cpu_model", "allowed_cores", "cpu_quota_cores", "kernel")
"""Facts of the environment that change what a machine resolves."""


class NoiseFloor(Value, frozen=True):
    """The noise floor. `resolved`: load → figure → half the width of the interval, as a share.

    `measured_at`: in UTC (ISO 8601). `machine`: the key of the machine (`this_machine`). `pair_s`:
    how long two cases were compared, in s.
    """

    measured_at: str
    machine: str
    confidence: float
    pair_s: float
    resolved: dict[str, dict[str, float]]

    @property
    def told(self) -> dict[str, Any]:
        """The noise floor as JSON values for a result: all but the machine, which none names."""
        of_it: dict[str, Any] = msgspec.to_builtins(self)
        del of_it["machine"]
        return of_it


def this_machine(root: Path = Path("/")) -> str:
    """The machine's key: machines with the same key resolve the same.

    A hash of the machine's number (machine-id(5)), its processor, the cores that processes may use
    here, their quota, and the kernel. A restart does not change it. A container without a number
    takes that of the kernel's start (random(4)); a clone that kept its number, on the same
    processor and kernel, is taken for its original. The key is empty where nothing is known to tell
    machines apart. `root` stands for the file system in tests.
    """
    number = _text(root / "etc/machine-id") or _text(root / "proc/sys/kernel/random/boot_id")
    if not number:
        return ""
    told = f"tinygram's noise floor: {number} {facts_named(_TOLD_APART_BY, root)}"
    return sha256(told.encode()).hexdigest()


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def path() -> Path:
    """The path of the file. Raises RuntimeError where the user has no home."""
    cache = os.environ.get("XDG_CACHE_HOME")
    folder = Path(cache) if cache else Path.home() / ".cache"
    return folder / "tinygram" / "noise-floor.json"


def keep(floor: NoiseFloor) -> None:
    """Keep this noise floor in place of an earlier one. Raises OSError and RuntimeError."""
    at = path()
    at.parent.mkdir(parents=True, exist_ok=True)
    store.replace(at, msgspec.json.format(msgspec.json.encode(floor), indent=2) + b"\n")


def recent(now: datetime | None = None) -> NoiseFloor | None:
    """The noise floor that was kept here within the last day; None: none that can be read."""
    try:
        floor = msgspec.json.decode(path().read_bytes(), type=NoiseFloor)
        age = (now or datetime.now(UTC)) - datetime.fromisoformat(floor.measured_at)
    except (OSError, RuntimeError, ValueError, TypeError):
        return None
    is_ours = floor.machine == this_machine() != ""
    return floor if is_ours and timedelta() <= age <= _KEPT_FOR else None
