"""Beyond loopback: pinned keys, in two network namespaces with clocks that differ by 5,000 s."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hosts.namespaces.apart import Apart, apart, needs_two_hosts, new_key, paste
from tests.support.command import Done

from tinygram_bench._native import Histogram

TENTH_NS = 10**8
"""The fastest message is faster on a busy host, too: they are due all through 200 ms."""
SECOND_US = 1e6
"""The median may be later, for a host can stop for a while."""
STREAM = ("stream", "--only", "loop/nodelay", "--rate", "1k")
LOADS = (
    STREAM,
    (*STREAM, "--reverse"),
    (*STREAM, "--tls"),
    (*STREAM, "--reverse", "--tls"),
    ("fanout", "--only", "native/epoll", "--rate", "1k", "--subscribers", "5"),
)
pytestmark = needs_two_hosts


def measured(
    two: Apart, folder: Path, home: Path | None = None, load: tuple[str, ...] = STREAM
) -> Done:
    workload, *options = load
    return two.command(folder, workload).run(
        *(*options, "--rounds", 1, "--duration", "200ms", "--server", two.address),
        environment={"XDG_CONFIG_HOME": str(home or two.near_home)},
    )


@pytest.fixture(scope="module")
def one_way(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Done]:
    """All loads, one after the other, from the same server."""
    folder = tmp_path_factory.mktemp("one-way")
    with apart(folder) as two:
        return {
            load: measured(two, folder / f"run-{number}", load=load)
            for number, load in enumerate(LOADS)
        }


@pytest.mark.parametrize("load", LOADS, ids=" ".join)
def test_one_way_times_are_right_though_the_clocks_differ(
    one_way: dict[tuple[str, ...], Done], load: tuple[str, ...]
) -> None:
    done = one_way[load]
    assert done.code == 0, done.stderr
    # A message that came before it was due fails the run: of a stream always, of fan-out where the
    # bound does not explain it. A difference of the clocks that is wrong the one way is then a
    # failure, which `counters_of` refuses. Wrong the other way, it makes all times longer, and the
    # shortest tells that best: a busy host makes others longer, but hardly every one.
    counters = done.counters_of()
    assert counters["clock_round_trip_ns"] // 2 <= counters["clock_bound_ns"] < TENTH_NS
    (run,) = done.runs
    fastest_ns = Histogram.from_base64(run["histograms"]["latency_ns"]).min_ns
    assert fastest_ns < TENTH_NS
    (summary,) = done.result["summaries"]
    assert 0 <= summary["figures"]["latency_p50_us"]["median"] < SECOND_US


def test_a_result_is_measured_again_with_the_key_of_its_server(tmp_path: Path) -> None:
    with apart(tmp_path) as two:
        first = tmp_path / "first"
        assert measured(two, first).code == 0
        done = two.command(tmp_path / "again", "rerun").run(
            first / "result.json", environment=two.environment
        )
    assert done.code == 0, done.stderr
    assert done.result["environment"]["far"]["host"] == two.address
    assert [run["failure"] for run in done.runs] == [None]


def test_a_client_without_a_key_is_told_how_to_get_one(tmp_path: Path) -> None:
    with apart(tmp_path) as two:
        done = measured(two, tmp_path / "run", tmp_path / "nobody")
    assert done.code == 2
    assert "this host has no key for that server" in done.stderr


def test_a_client_with_another_key_is_refused(tmp_path: Path) -> None:
    with apart(tmp_path) as two:
        (file,) = (two.near_home / "tinygram" / "servers").iterdir()
        other = tmp_path / "other"
        paste(new_key(tmp_path / "elsewhere"), other)
        (wrong,) = (other / "tinygram" / "servers").iterdir()
        wrong.rename(file)
        done = measured(two, tmp_path / "run")
    assert done.code == 2
    assert "it may not know this host's key (paste the line of `tinygram serve" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_with_another_key_than_before_is_refused_though_that_was_pasted_too(
    tmp_path: Path,
) -> None:
    with apart(tmp_path) as two:
        folder = two.near_home / "tinygram"
        (known,) = (folder / "servers").iterdir()
        assert measured(two, tmp_path / "first").code == 0
        (kept,) = (folder / "answering").iterdir()
        assert kept.read_text().strip() == known.name
        # The name of another key stands for another server that answered there until now.
        kept.write_text("0" * len(known.name) + "\n")
        done = measured(two, tmp_path / "second")
    assert done.code == 2
    assert f"{two.address}:5201 answers with another key ({known.name})" in done.stderr
    assert f"remove {kept} and measure again" in done.stderr
