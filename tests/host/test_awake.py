"""Cores are kept awake while the device is open, and only then."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.support.plans import stream

from tinygram_bench.cli import main
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.measurement import measure


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


@pytest.mark.parametrize(
    ("link", "is_kept_awake"), [("loopback", False), ("remote", False), ("rtt=1ms", True)]
)
def test_unasked_cores_are_kept_awake_over_emulated_links_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, link: str, is_kept_awake: bool
) -> None:
    """Between two hosts it would be one of them alone."""
    device = tmp_path / "cpu_dma_latency"
    device.write_bytes(b"\xff" * 4)
    monkeypatch.setattr(measure, "cores_awake", lambda: cores_awake(device))
    plan = stream.planned("loop/nodelay", link=link)
    with measure.cores_as_asked(False, plan):
        assert _holds(device) == is_kept_awake


@pytest.mark.parametrize("is_permitted", [True, False])
def test_a_command_is_told_where_it_is_not_permitted(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    is_permitted: bool,
) -> None:
    device = tmp_path / "cpu_dma_latency"
    if is_permitted:
        device.write_bytes(b"\xff" * 4)
    monkeypatch.setattr(measure, "cores_awake", lambda: cores_awake(device))
    result = tmp_path / "result.json"
    arguments = ("--sizes", "1..1B", "--samples", "100", "--rounds", "1", "--no-local", "--quiet")
    monkeypatch.setattr(
        sys, "argv", ["tinygram", "sizes", "--awake", *arguments, "--json", str(result)]
    )
    with pytest.raises(SystemExit) as exited:
        main()
    assert result.exists() == is_permitted
    if is_permitted:
        assert exited.value.code == 0
        assert device.read_bytes() == bytes(4)
    else:
        assert exited.value.code == 2
        assert "--awake: only root may keep cores from sleeping" in capsys.readouterr().err
