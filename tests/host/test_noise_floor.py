"""What `tinygram trust` found is kept for a day, and never stands in anybody's way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from tinygram_bench.host import noise_floor
from tinygram_bench.host.noise_floor import NoiseFloor

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
FLOOR = NoiseFloor(
    measured_at="2026-11-23T10:00:00+00:00",
    machine=noise_floor.this_machine(),
    confidence=0.96875,
    pair_s=36,
    resolved={"rr": {"calls_per_s": 0.012}},
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_what_is_kept_is_known_for_a_day() -> None:
    assert noise_floor.recent(NOW) is None
    noise_floor.keep(FLOOR)
    assert noise_floor.recent(NOW) == FLOOR
    assert noise_floor.recent(NOW + timedelta(hours=22)) == FLOOR
    assert noise_floor.recent(NOW + timedelta(hours=23)) is None
    assert noise_floor.recent(NOW - timedelta(hours=3)) is None
    noise_floor.keep(replace(FLOOR, pair_s=12))
    assert noise_floor.recent(NOW) == replace(FLOOR, pair_s=12)


def test_that_of_another_machine_is_none() -> None:
    noise_floor.keep(replace(FLOOR, machine="0dd4c2f6"))
    assert noise_floor.recent(NOW) is None


def test_where_nothing_tells_machines_apart_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(noise_floor, "this_machine", lambda: "")
    noise_floor.keep(replace(FLOOR, machine=""))
    assert noise_floor.recent(NOW) is None


def written(root: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_restart_leaves_the_machine_and_another_processor_or_number_does_not(
    tmp_path: Path,
) -> None:
    number, cpu, start = "etc/machine-id", "proc/cpuinfo", "proc/sys/kernel/random/boot_id"
    root = written(tmp_path, {number: "1\n", cpu: "model name : A\n", start: "8\n"})
    first = noise_floor.this_machine(root)
    assert noise_floor.this_machine(written(root, {start: "9\n"})) == first
    others = [
        noise_floor.this_machine(written(root, {cpu: "model name : B\n"})),
        noise_floor.this_machine(written(root, {number: "2\n"})),
        noise_floor.this_machine(written(root, {number: ""})),
        noise_floor.this_machine(written(root, {start: "10\n"})),
    ]
    assert len({first, *others}) == 5
    assert noise_floor.this_machine(written(root, {start: ""})) == ""


def test_a_result_does_not_name_the_machine() -> None:
    assert "machine" not in FLOOR.told
    assert FLOOR.told["resolved"] == {"rr": {"calls_per_s": 0.012}}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"measured_at": "yesterday"}', "\x00", '{"measured_at": 5}']
)
def test_a_file_that_is_none_is_as_good_as_no_file(cache: Path, text: str) -> None:
    (cache / "tinygram").mkdir()
    noise_floor.path().write_text(text)
    assert noise_floor.recent(NOW) is None


def test_without_a_zone_a_time_is_not_known() -> None:
    noise_floor.keep(replace(FLOOR, measured_at="2026-11-23T10:00:00"))
    assert noise_floor.recent(NOW) is None
