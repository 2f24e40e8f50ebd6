"""The environment of a result: as the kernel says, null where it says nothing."""

from __future__ import annotations

import getpass
import gzip
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tinygram_bench.host.probes.environment import environment

FILES = {
    "proc/cpuinfo": (
        "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu hypervisor sse\n\n"
        "processor\t: 1\nmodel name\t: Another\nflags\t\t: fpu\n"
    ),
    "proc/loadavg": "0.50 0.25 0.10 1/100 1234\n",
    "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "proc/sys/net/ipv4/tcp_congestion_control": "bbr\n",
    "sys/class/net/lo/mtu": "65536\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    config = b"CONFIG_HZ_250=y\nCONFIG_HZ=250\n"
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(config))
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/cpu_dma_latency").write_bytes(bytes(4))
    return tmp_path


def test_facts_are_read_from_the_kernel(root: Path) -> None:
    facts = environment("cubic", root)
    expected = {
        "congestion_control": "cubic",
        "cpu_model": "Some CPU @ 2 GHz",
        "is_virtual_machine": True,
        "load_average_1_5_15_min": [0.5, 0.25, 0.1],
        "loopback_mtu_bytes": 65536,
        "cpu_governor": "performance",
        "cpu_latency_limit_us": 0,
        "clocksource": "tsc",
        "kernel_hz": 250,
        "allowed_cores": sorted(os.sched_getaffinity(0)),
        "kernel": os.uname().release,
    }
    assert {name: facts[name] for name in expected} == expected
    assert facts["sysctls"]["net.ipv4.tcp_rmem"] == "4096 131072 6291456"
    assert facts["sysctls"]["net.ipv4.tcp_congestion_control"] == "bbr"


@pytest.mark.parametrize("garbage", [b"", b"\xff\xfe", b"no such thing\n"])
def test_what_cannot_be_read_is_null(root: Path, garbage: bytes) -> None:
    for path in [*FILES, "proc/config.gz"]:
        (root / path).write_bytes(garbage)
    facts = environment("cubic", root)
    assert facts["cpu_model"] is None
    assert facts["is_virtual_machine"] is None
    assert facts["kernel_hz"] is None
    assert facts["load_average_1_5_15_min"] is None
    assert facts["loopback_mtu_bytes"] is None


def test_a_host_without_proc_and_sys_has_nulls(tmp_path: Path) -> None:
    facts = environment("cubic", tmp_path)
    assert facts["cpu_model"] is None
    assert facts["load_average_1_5_15_min"] is None
    assert set(facts["sysctls"].values()) == {None}
    assert facts["python"].endswith(sys.version.split()[0])


def test_this_host_is_known() -> None:
    facts = environment("cubic")
    mtu = subprocess.run(
        ["cat", "/sys/class/net/lo/mtu"], capture_output=True, text=True, check=True
    )
    assert facts["loopback_mtu_bytes"] == int(mtu.stdout)
    assert facts["memory_bytes"] > 0
    assert facts["sysctls"]["net.ipv4.tcp_congestion_control"] is not None


def test_it_is_json_and_names_neither_host_nor_user() -> None:
    values = json.dumps(list(environment("cubic").values())).split('"')
    assert socket.gethostname() not in values
    assert getpass.getuser() not in values
