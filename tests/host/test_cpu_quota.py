"""A control group's CPU quota is in the result and told: a fifth of a core passed for a core."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import jsonschema
import pytest
from tests.support.command import Command
from tests.support.small_result import CASE
from tests.support.waiting import GONE_S, wait_until

from tinygram_bench.host.probes.cgroups import Throttling, cpu_quota_cores, throttling
from tinygram_bench.host.probes.environment import environment
from tinygram_bench.host.throttled import throttling_told
from tinygram_bench.model.result import Case, Run
from tinygram_bench.schema import json_schema


def lay(root: Path, files: dict[str, str]) -> Path:
    """A file system with these files."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


V2 = {
    "proc/self/cgroup": "0::/pod/bench\n",
    "sys/fs/cgroup/cpu.stat": "usage_usec 1\n",
    "sys/fs/cgroup/pod/cpu.max": "20000 100000\n",
    "sys/fs/cgroup/pod/cpu.stat": "usage_usec 9\nnr_throttled 4\nthrottled_usec 250\n",
    "sys/fs/cgroup/pod/bench/cpu.max": "max 100000\n",
    "sys/fs/cgroup/pod/bench/cpu.stat": "usage_usec 9\nnr_throttled 0\nthrottled_usec 0\n",
}
V1 = {
    "proc/self/cgroup": "3:memory:/a\n1:cpu,cpuacct:/docker/abc\n0::/\n",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "150000\n",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/cpu,cpuacct/cpu.stat": "nr_periods 9\nnr_throttled 7\nthrottled_time 1234\n",
}


def test_version_2_has_the_quota_of_a_group_above(tmp_path: Path) -> None:
    root = lay(tmp_path, V2)
    assert cpu_quota_cores(root) == 0.2
    assert throttling(root) == Throttling(4, 250_000)
    assert environment("cubic", root)["cpu_quota_cores"] == 0.2


def test_version_1_is_read_also_where_a_container_sees_its_own_group_alone(tmp_path: Path) -> None:
    root = lay(tmp_path, V1)
    # On hosts with systemd one of the mounts is a link to the other one.
    (root / "sys/fs/cgroup/cpu").symlink_to("cpu,cpuacct")
    assert cpu_quota_cores(root) == 1.5
    assert throttling(root) == Throttling(7, 1_234)


@pytest.mark.parametrize(
    "changed",
    [
        {"sys/fs/cgroup/pod/cpu.max": "max 100000\n"},
        {"sys/fs/cgroup/pod/cpu.max": "?\n"},
        {"proc/self/cgroup": ""},
    ],
)
def test_without_a_quota_there_is_nothing_to_tell(tmp_path: Path, changed: dict[str, str]) -> None:
    root = lay(tmp_path, V2 | changed)
    assert (cpu_quota_cores(root), throttling(root)) == (None, None)


def test_a_run_that_was_stopped_has_the_count_and_a_warning(tmp_path: Path) -> None:
    root = lay(tmp_path, V2)

    def run_cases(cases: Sequence[Case], round: int) -> list[Run]:
        text = f"nr_throttled {4 + 3 * round}\nthrottled_usec {250 + 2_000 * round}\n"
        lay(root, {"sys/fs/cgroup/pod/cpu.stat": text})
        return [Run(case.case_id, round, {"writes": 1}, {}) for case in cases]

    (calm,), (stopped,) = (throttling_told(run_cases, root)([CASE], round) for round in (0, 1))
    assert calm.counters == {"writes": 1, "throttled_periods": 0, "throttled_ns": 0}
    assert calm.warnings == ()
    assert stopped.counters == {"writes": 1, "throttled_periods": 3, "throttled_ns": 2_000_000}
    assert [warning.code for warning in stopped.warnings] == ["cpu_quota"]
    assert "a CPU quota stopped the run's processes in 3 periods" in stopped.warnings[0].message
    # Cases that took turns have the group's count, each the whole of it.
    together = throttling_told(run_cases, root)([CASE, CASE], 2)
    assert [run.counters["throttled_periods"] for run in together] == [3, 3]
    for run in together:
        assert "a CPU quota stopped 2 cases that took turns" in run.warnings[0].message


def removed(group: Path) -> bool:
    try:
        group.rmdir()
    except OSError:
        return False
    return True


@pytest.fixture
def quota() -> Iterator[Path]:
    """A group of this machine's own with a fifth of a core."""
    name = f"tinygram-test-{uuid.uuid4().hex}"
    for folder, files in (
        ("cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "20000"}),
        ("", {"cpu.max": "20000 100000"}),
    ):
        group = Path("/sys/fs/cgroup", folder, name)
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if all((group / file).exists() for file in files):
                for file, text in files.items():
                    (group / file).write_text(text)
                yield group
                return
        finally:
            # A process that has ended is in it until it is reaped.
            wait_until(partial(removed, group), GONE_S, f"{group} is empty")
    pytest.skip("no control group can be made here: that needs root and a cgroup file system")


@pytest.mark.parametrize("command", ["stream"], indirect=True)
def test_a_measurement_under_a_real_quota_tells_it(command: Command, quota: Path) -> None:
    join = f'echo $$ > {quota}/cgroup.procs && exec "$@"'
    command.through = ("sh", "-c", join, "sh")
    done = command.run(
        *("--messages", 100_000, "--rounds", 1, "--pin", "none"),
        *("--only", "runtime=loop,implementation=stdlib,strategy=nodelay"),
    )
    assert done.code == 0, done.stderr
    jsonschema.validate(done.result, json_schema())
    assert done.result["environment"]["cpu_quota_cores"] == 0.2
    assert done.counters_of()["throttled_periods"] > 0
    assert "a CPU quota stopped the run's processes" in done.stdout
    assert "0.2 cores" in done.stdout
