"""IPv6 between two hosts, with keys: control connection, clock and messages."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from pyroute2 import IPRoute
from tests.hosts.namespaces.apart import FAR_SIX, Apart, apart, needs_two_hosts

pytestmark = needs_two_hosts


def check_measures(
    two: Apart, folder: Path, server: str, subcommand: str, *options: object
) -> None:
    done = two.command(folder, subcommand).run(
        *options,
        *("--rounds", 1, "--duration", "500ms", "--server", server),
        environment=two.environment,
    )
    assert done.code == 0, done.stderr
    assert [run["failure"] for run in done.runs] == [None] * len(done.runs)


def without_four(two: Apart) -> None:
    """Take the near host's addresses of IPv4: what is over IPv4 cannot be from now on."""
    with IPRoute() as route:
        (index,) = route.link_lookup(ifname=two.hosts.near.device)
        route.flush_addr(index=index, family=socket.AF_INET)


@pytest.mark.parametrize("bind", [FAR_SIX, "::"])
def test_all_of_a_measurement_goes_over_ipv6(tmp_path: Path, bind: str) -> None:
    with apart(tmp_path, bind=bind) as two:
        without_four(two)
        stream = ("stream", "--only", "loop/nodelay", "--rate", "1k")
        check_measures(two, tmp_path / "bare", FAR_SIX, *stream)
        echo = ("echo", "--only", "asyncio/protocol", "--size", 1000)
        check_measures(two, tmp_path / "port", f"[{FAR_SIX}]:5201", *echo)


def test_a_server_on_all_addresses_serves_ipv4_too(tmp_path: Path) -> None:
    with apart(tmp_path, bind="::") as two:
        stream = ("stream", "--only", "loop/nodelay", "--rate", "1k")
        check_measures(two, tmp_path / "four", two.hosts.far.address, *stream)
