"""Where /dev/net/tun is not there packet sockets on veth pairs take its place, and that is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.links.emulating import Emulate, without_tun
from tests.links.round_trips import (
    CLIENT,
    CONNECTED,
    MOST_S,
    PYTHON,
    RELAYS_LEAST_S,
    SERVER,
)
from tests.support.processes import search_path
from tests.support.waiting import LONGEST_S

STREAM = (
    *("--only", "runtime=loop,implementation=stdlib,strategy=nodelay", "--size", 100),
    *("--rounds", 1, "--rate", 2_000, "--duration", "500ms"),
)


pytestmark = pytest.mark.usefixtures("links_permitted")


@pytest.fixture
def emulate(tmp_path: Path) -> Iterator[Emulate]:
    """`tinygram emulate` that finds no /dev/net/tun."""
    emulate = Emulate(tmp_path, without_tun())
    yield emulate
    emulate.end()


def test_check_says_what_takes_its_place_and_how_to_have_it(emulate: Emulate) -> None:
    done = emulate.run("--check")
    assert done.code == 0
    [relay] = [line for line in done.stdout.splitlines() if line.startswith("relay")]
    assert relay.split()[1] == "yes"
    assert "with veth pairs, for /dev/net/tun cannot be opened" in relay
    assert "`modprobe tun`" in relay


def test_a_round_trip_takes_what_was_asked(emulate: Emulate) -> None:
    done = emulate.run("rtt=40ms", "--far", SERVER, "--", PYTHON, "-c", CLIENT)
    assert done.code == 0, done.stderr
    assert "rtt=40ms by relay (veth), MTU 1500, no device queues, no offload" in done.stderr
    said, seconds = done.stdout.split()
    assert said == "over"
    assert RELAYS_LEAST_S < float(seconds) < MOST_S


LONG = (
    f"{CONNECTED}"
    "c.sendall(b'x' * 1_000_000); c.shutdown(socket.SHUT_WR)\n"
    "print(len(b''.join(iter(lambda: c.recv(65536), b''))))"
)
BACK = (
    f"{PYTHON} -c \"import socket; s = socket.create_server(('0.0.0.0', 7000)); "
    "c, _ = s.accept(); c.sendall(b''.join(iter(lambda: c.recv(65536), b'')))\""
)


@pytest.mark.parametrize("link", ["rtt=1ms", "rtt=1ms,mtu=9000", "rtt=1ms,bandwidth=1gbit,mtu=576"])
def test_long_writes_come_whole_in_packets_of_the_mtu(emulate: Emulate, link: str) -> None:
    """Segments that nobody cut, or checksums that nobody made, would come nowhere."""
    done = emulate.run(link, "--far", BACK, "--", PYTHON, "-c", LONG)
    assert (done.code, done.stdout) == (0, "1000000\n"), done.stderr


def test_a_run_says_what_its_packets_went_through(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    command = (sys.executable, "-B", "-m", "tinygram_bench", "stream", "--link", "rtt=2ms")
    words = (*without_tun(), *command, *STREAM, "--json", result)
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": search_path()},
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [run] = json.loads(result.read_text())["runs"]
    assert (run["link"]["backend"], run["link"]["device"]) == ("relay", "veth")
    assert (run["link"]["has_offload"], run["link"]["device_queue_packets"]) == (False, 0)
    counters = run["counters"]
    assert counters["link_near_to_far_bytes"] > counters["bytes"]
    unasked = 0
    for direction in ("near_to_far", "far_to_near"):
        assert counters[f"link_{direction}_packets"] > 10
        for dropped in ("ignored", "lost", "full"):
            assert counters[f"link_{direction}_{dropped}"] == 0
        unasked += sum(counters[f"link_{direction}_{name}"] for name in ("missed", "refused"))
    # A host that stops for long may have no room for what comes, and it is told.
    assert ("link_dropped" in {each["code"] for each in run["warnings"]}) == (unasked > 0)
    # Every segment came, or was counted, and was a packet of its own.
    assert counters["link_near_to_far_packets"] + unasked >= counters["data_segments"] > 100
