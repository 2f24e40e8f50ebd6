"""Cores are kept awake while the device is open, and only then."""

from __future__ import annotations

import os
from pathlib import Path

from tinygram.bench.awake import cores_awake


def _holds(device: Path) -> bool:
    links = Path("/proc/self/fd").iterdir()
    return any(os.path.realpath(link) == str(device) for link in links)


def test_the_device_is_asked_for_no_latency_and_held_open_until_the_end(tmp_path: Path) -> None:
    device = tmp_path / "cpu_dma_latency"
    device.write_bytes(b"\xff" * 4)
    with cores_awake(device) as is_awake:
        assert is_awake
        assert device.read_bytes() == bytes(4)
        assert _holds(device)
    assert not _holds(device)


def test_where_it_is_not_permitted_the_cores_may_sleep(tmp_path: Path) -> None:
    with cores_awake(tmp_path / "missing") as is_awake:
        assert not is_awake
