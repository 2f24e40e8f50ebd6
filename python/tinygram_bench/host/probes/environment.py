"""The environment that a result was measured in; it travels with the result.

Law: a fact that cannot be read here is None, never an error, and no fact names the host or its
user. To add a fact, add a line to a table.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

import tinygram
from tinygram_bench.host.probes.cgroups import cpu_quota_cores
from tinygram_bench.host.urgent import may_be_urgent
from tinygram_bench.tls.kernel import kernel_tls_refusal

Reader = Callable[[Path], Any]
"""Reads one fact below the given root directory; may raise the errors in `_UNKNOWN`."""

_UNKNOWN = (OSError, ValueError, LookupError, ImportError)

_SYSCTLS = (
    "net.core.default_qdisc",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
)

_READERS: dict[str, Reader] = {
    "kernel": lambda _: platform.release(),
    "kernel_hz": lambda root: _kernel_hz(root),
    "architecture": lambda _: platform.machine(),
    "clocksource": lambda root: _text(root, _CLOCKSOURCE),
    "cpu_model": lambda root: _cpuinfo(root, "model name"),
    "cpu_latency_limit_us": lambda root: _cpu_latency_limit_us(root),
    "cpu_governor": lambda root: _text(root, _GOVERNOR),
    "is_virtual_machine": lambda root: "hypervisor" in _cpuinfo(root, "flags").split(),
    "cores": lambda _: os.cpu_count(),
    "allowed_cores": lambda _: sorted(os.sched_getaffinity(0)),
    "cpu_quota_cores": cpu_quota_cores,
    "has_real_time_priority": lambda _: may_be_urgent(),
    "memory_bytes": lambda _: os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
    "load_average_1_5_15_min": lambda root: _load_average(root),
    "loopback_mtu_bytes": lambda root: int(_text(root, "sys/class/net/lo/mtu")),
    "python": lambda _: f"{platform.python_implementation()} {platform.python_version()}",
    "tinygram": lambda _: tinygram.__version__,
    "openssl": lambda _: _openssl(),
    "has_kernel_tls": lambda _: kernel_tls_refusal() is None,
    "msgspec": lambda _: msgspec.__version__,
    "uvloop": lambda _: _version("uvloop"),
}

_GOVERNOR = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
_CLOCKSOURCE = "sys/devices/system/clocksource/clocksource0/current_clocksource"


def environment(congestion_control: str, root: Path = Path("/")) -> dict[str, Any]:
    """Everything known about this host now; `congestion_control` is that of the runs.

    Values are JSON values, None where unknown. `sysctls` are texts as the kernel shows them.
    `root` stands for the file system in tests.
    """
    facts = facts_named(_READERS, root)
    sysctls = {name: _read(_sysctl(name), root) for name in _SYSCTLS}
    return {"congestion_control": congestion_control, **facts, "sysctls": sysctls}


def facts_named(names: Iterable[str], root: Path = Path("/")) -> dict[str, Any]:
    """Only these facts of `environment`, by name."""
    return {name: _read(_READERS[name], root) for name in names}


def _read(reader: Reader, root: Path) -> Any:
    try:
        return reader(root)
    except _UNKNOWN:
        return None


def _sysctl(name: str) -> Reader:
    return lambda root: " ".join(_text(root, "proc/sys/" + name.replace(".", "/")).split())


def _text(root: Path, path: str) -> str:
    text = (root / path).read_text().strip()
    if not text:
        raise LookupError(path)
    return text


def _cpuinfo(root: Path, key: str) -> str:
    """The value of `key` for the first core."""
    for line in _text(root, "proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    raise LookupError(key)


def _openssl() -> str:
    import ssl

    return ssl.OPENSSL_VERSION


def _version(package: str) -> str:
    # Imported only here: it is slow to import, and only measuring needs it.
    import importlib.metadata

    return importlib.metadata.version(package)


def _kernel_hz(root: Path) -> int:
    import gzip

    with gzip.open(root / "proc/config.gz", "rt") as config:
        for line in config:
            if line.startswith("CONFIG_HZ="):
                return int(line.partition("=")[2])
    raise LookupError("CONFIG_HZ")


def _cpu_latency_limit_us(root: Path) -> int:
    """The most that idle cores may take to wake up; 0: they poll (`tinygram_bench.host.awake`)."""
    with (root / "dev/cpu_dma_latency").open("rb", buffering=0) as device:
        return int.from_bytes(device.read(4), "little", signed=True)


def _load_average(root: Path) -> list[float]:
    return [float(number) for number in _text(root, "proc/loadavg").split()[:3]]
