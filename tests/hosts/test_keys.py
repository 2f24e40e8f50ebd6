"""Beyond loopback: pinned keys, in two network namespaces with clocks that differ by 5,000 s."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.support.command import Command, Done

from tinygram_bench.links.backends.veth import make_pair
from tinygram_bench.links.hosts import two_hosts

PLANTED_S = 5_000
LATEST_US = 1_000_000.0
TINYGRAM = (sys.executable, "-B", "-m", "tinygram_bench")
IN_ANOTHER_TIME = ("unshare", "--time", "--monotonic", str(PLANTED_S))


def may_have_two_hosts() -> str | None:
    """Why not; None: it may."""
    if os.geteuid() != 0:
        return "only root may make network and time namespaces"
    tried = subprocess.run([*IN_ANOTHER_TIME, "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else f"no time namespace: {tried.stderr!r}"


REFUSED = may_have_two_hosts()
pytestmark = pytest.mark.skipif(REFUSED is not None, reason=str(REFUSED))


def new_key(home: Path) -> str:
    """The line to paste, of a new key of the server with that home."""
    words = [*TINYGRAM, "serve", "--new-key"]
    around = os.environ | {"XDG_CONFIG_HOME": str(home)}
    return subprocess.run(words, env=around, capture_output=True, text=True, check=True).stdout


def paste(line: str, home: Path) -> None:
    around = os.environ | {"XDG_CONFIG_HOME": str(home)}
    subprocess.run(["sh", "-c", line], env=around, check=True)


@contextmanager
def hosts(tmp_path: Path) -> Iterator[tuple[Path, Path, str, ExitStack]]:
    """The homes of client and server, the server's address, and the near host entered."""
    homes = tmp_path / "near", tmp_path / "far"
    with ExitStack() as stack:
        made = stack.enter_context(two_hosts())
        make_pair(made, 1_500)
        line = new_key(homes[1])
        paste(line, homes[0])
        with made.far.network.entered():
            server = subprocess.Popen(
                [*IN_ANOTHER_TIME, *TINYGRAM, "serve", "--bind", made.far.address],
                env=os.environ | {"XDG_CONFIG_HOME": str(homes[1])},
                stdout=subprocess.PIPE,
                text=True,
            )
        stack.enter_context(server)
        stack.callback(server.kill)
        assert server.stdout is not None
        assert server.stdout.readline() == "listening 5201\n"
        stack.enter_context(made.near.network.entered())
        yield *homes, made.far.address, stack


def measured(tmp_path: Path, home: Path, server: str, *options: object) -> Done:
    folder = tmp_path / "run"
    folder.mkdir()
    return Command(folder, "stream").run(
        *("--only", "loop/nodelay", "--rounds", 1, "--rate", "1k", "--duration", "200ms"),
        *("--server", server, *options),
        environment={"XDG_CONFIG_HOME": str(home)},
    )


@pytest.mark.parametrize("options", [(), ("--reverse",), ("--tls",), ("--reverse", "--tls")])
def test_one_way_times_are_right_though_the_clocks_differ(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    with hosts(tmp_path) as (near, _, address, _):
        done = measured(tmp_path, near, address, *options)
    assert done.code == 0, done.stderr
    counters = done.counters_of()
    assert counters["clock_bound_ns"] >= counters["clock_round_trip_ns"] // 2
    (summary,) = done.result["summaries"]
    assert 0 <= summary["figures"]["latency_p50_us"]["median"] < LATEST_US


def test_a_client_without_a_key_is_told_how_to_get_one(tmp_path: Path) -> None:
    with hosts(tmp_path) as (_, _, address, _):
        done = measured(tmp_path, tmp_path / "nobody", address)
    assert done.code == 2
    assert "this host has no key for that server" in done.stderr


def test_a_client_with_another_key_is_refused(tmp_path: Path) -> None:
    with hosts(tmp_path) as (near, _, address, _):
        (file,) = (near / "tinygram" / "servers").iterdir()
        other = tmp_path / "other"
        paste(new_key(tmp_path / "elsewhere"), other)
        (wrong,) = (other / "tinygram" / "servers").iterdir()
        wrong.rename(file)
        done = measured(tmp_path, near, address)
    assert done.code == 2
    assert "Traceback" not in done.stderr
