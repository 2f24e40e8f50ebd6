"""qperf (github.com/linux-rdma/qperf): `tcp_bw` sends, and `tcp_lat` calls. It leaves Nagle on."""

from __future__ import annotations

import re

from tinygram_bench.crosscheck.peer import (
    CHECKS_NOTHING,
    HOST,
    NAGLE,
    READS_SINGLY,
    Program,
    Reading,
    Setting,
    Words,
    Work,
)

_DIGITS = "6"
_BYTES_PER_S = {"bytes/sec": 1.0, "KB/sec": 1e3, "MB/sec": 1e6, "GB/sec": 1e9, "TB/sec": 1e12}
_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "sec": 1e6}


def _server(work: Work) -> list[str]:
    return ["qperf", "--listen_port", str(work.port)]


def _client(test: str) -> Words:
    def words(work: Work) -> list[str]:
        load = ("--msg_size", str(work.message_bytes), "--time", str(work.seconds))
        shown = ("--unify_units", "--precision", _DIGITS)
        return ["qperf", HOST, "--listen_port", str(work.port), *load, *shown, test]

    return words


def _quantity(name: str, units: dict[str, float], output: str) -> float:
    """Read `name  =  1,234.5 unit`; without --unify_units, the unit would suit the number."""
    match = re.search(rf"^\s*{name}\s*=\s*([0-9][0-9,.]*)\s*(\S+)", output, re.MULTILINE)
    if match is None or match[2] not in units:
        raise ValueError(f"its output has no {name} in one of the units {', '.join(units)}")
    return float(match[1].replace(",", "")) * units[match[2]]


def read_bandwidth(output: str, work: Work) -> Reading:
    """Read `bw  =  N bytes/sec`."""
    return Reading(_quantity("bw", _BYTES_PER_S, output) / work.message_bytes, None)


def read_latency(output: str, _work: Work) -> Reading:
    """Read `latency  =  N ns`, which is for one way: half of a round trip."""
    return Reading(2 * _quantity("latency", _MICROSECONDS, output), None)


QPERF = Program(
    name="qperf",
    version_option="--version",
    sizes=(1, 1 << 20),
    listens_everywhere=True,
    settings={
        "stream": (
            Setting(
                name="nagle",
                strategy="nagle",
                figure="throughput_per_s",
                server=_server,
                client=_client("tcp_bw"),
                read=read_bandwidth,
                batching=NAGLE,
                meaning="bytes of whole messages that its server received, by the size of a "
                "message and the time",
                differences=(READS_SINGLY, CHECKS_NOTHING),
            ),
        ),
        "rr": (
            Setting(
                name="nagle",
                strategy="nodelay",
                figure="call_mean_us",
                server=_server,
                client=_client("tcp_lat"),
                read=read_latency,
                batching="one write for a message; Nagle is on, and has nothing to hold where each "
                "message is answered before the next",
                meaning="the mean of all round trips: it tells the half, which is doubled here",
                differences=("it compares no byte of the replies, ours all",),
            ),
        ),
    },
)
