"""A server connects to nobody, whatever a client asks of it: its kernel has counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hosts.namespaces.apart import apart, needs_two_hosts

STREAM = ("stream", "--only", "loop/nodelay", "--rate", "1k", "--duration", "200ms")
LOADS = {
    "stream": STREAM,
    "stream in reverse": (*STREAM, "--reverse"),
    "stream in both directions": (*STREAM, "--bidirectional"),
    "stream over TLS in reverse": (*STREAM, "--reverse", "--tls"),
    "stream on many connections in reverse": (
        *("stream", "--only", "asyncio/nodelay", "--connections", 20, "--rate", "1k"),
        *("--duration", "200ms", "--reverse"),
    ),
    "rr": (
        *("rr", "--callers", "1x2", "--runtime", "native", "--strategy", "nodelay"),
        *("--connections", "per-request", "--sends-per-request", 1, "--duration", "200ms"),
    ),
    "echo": ("echo", "--only", "threads/recv", "--size", 1000, "--duration", "200ms"),
    "fanout": ("fanout", "--only", "native/epoll", "--subscribers", 10, "--duration", "200ms"),
    "sizes": ("sizes", "--sizes", 1000, "--round-trips", 1, "--samples", 100, "--no-local"),
}
pytestmark = needs_two_hosts


def counted(protocol: str) -> dict[str, int]:
    """Counters of this thread's network namespace: for TCP with IPv6, and for UDP without it."""
    lines = Path("/proc/thread-self/net/snmp").read_text().splitlines()
    names, values = (line.split()[1:] for line in lines if line.startswith(f"{protocol}:"))
    return dict(zip(names, map(int, values), strict=True))


def counted_of_ipv6() -> dict[str, int]:
    lines = Path("/proc/thread-self/net/snmp6").read_text().splitlines()
    return {name: int(value) for name, value in map(str.split, lines)}


@pytest.mark.parametrize("name", LOADS)
def test_the_far_host_opens_no_connection_and_sends_no_datagram(tmp_path: Path, name: str) -> None:
    workload, *options = LOADS[name]
    with apart(tmp_path) as two:
        done = two.command(tmp_path / "run", str(workload)).run(
            *options, "--rounds", 1, "--server", two.address, environment=two.environment
        )
        tcp, udp = two.on_far(lambda: counted("Tcp")), two.on_far(lambda: counted("Udp"))
        of_ipv6 = two.on_far(counted_of_ipv6)
    assert [run["failure"] for run in done.runs] == [None] * len(done.runs), done.stderr
    # There are a control connection, one for the clock, and one of the load at least.
    assert tcp["PassiveOpens"] >= 3
    assert tcp["ActiveOpens"] == 0
    assert udp["OutDatagrams"] == 0
    assert of_ipv6["Udp6OutDatagrams"] == 0
