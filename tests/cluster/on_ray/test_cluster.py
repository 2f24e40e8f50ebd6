"""Four hosts with Ray, each a network namespace: what is measured between them, and what is told
when one of them dies, has another tinygram, or was never there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.on_ray.hosts import Hosts, cluster_hosts, refusal

from tinygram import __version__
from tinygram_bench._native import Histogram
from tinygram_bench.tls.records import RECORD_OVERHEAD_BYTES

REFUSAL = refusal()
pytestmark = pytest.mark.skipif(REFUSAL is not None, reason=str(REFUSAL))
LATEST_S = 15.0
"""Ten seconds, and what a busy machine takes to start Python and Ray."""
LOAD = ("--only", "loop/nodelay", "--rate", "2k", "--duration", "400ms")
ECHO = ("echo", "--only", "asyncio/protocol", "--size", 100)


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with cluster_hosts() as made:
        yield made


def tinygram(hosts: Hosts, *words: object) -> subprocess.CompletedProcess[str]:
    """The command on the first host."""
    return hosts.run(1, sys.executable, "-B", "-m", "tinygram_bench", *words)


def run_and_read(hosts: Hosts, folder: Path, *words: object) -> Any:
    """The result of a measurement that must succeed."""
    file = folder / "result.json"
    done = tinygram(hosts, *words, "--cluster", "auto", "--json", file)
    assert done.returncode == 0, done.stderr
    return json.loads(file.read_text())


def test_a_rate_is_shared_between_two_servers_and_the_parts_are_merged_exactly(
    hosts: Hosts, tmp_path: Path
) -> None:
    words = (*LOAD, "--rounds", 2, "--arrival", "poisson", "--servers", 2, "--clients", 2)
    result = run_and_read(hosts, tmp_path, "stream", *words)
    roles = [each["role"] for each in result["environment"]["cluster"]]
    assert roles == ["server", "server", "generator", "generator"]
    for run in result["runs"]:
        first, second = run["hosts"]
        involved = {each[name] for each in (first, second) for name in ("host", "server")}
        assert involved == {hosts.address(number) for number in (1, 2, 3, 4)}
        assert [each["rate_per_s"] for each in run["hosts"]] == [1_000, 1_000]
        assert run["counters"]["messages"] == first["messages"] + second["messages"]
        latency = Histogram.from_base64(run["histograms"]["latency_ns"])
        assert 0 < latency.count <= run["counters"]["messages"]
        assert latency.max_ns / 1e3 == max(each["latency_max_us"] for each in run["hosts"])
        # They share one clock: their slices were in step, but for what is not known of it.
        assert 0 < run["counters"]["step_error_ns"] < 20_000_000
        assert run["counters"]["generators"] == 2


def test_cases_take_turns_on_all_hosts_at_once(hosts: Hosts, tmp_path: Path) -> None:
    result = run_and_read(
        hosts, tmp_path, "stream", "--only", "loop/nodelay,loop/nagle", "--rounds", 1
    )
    for run in result["runs"]:
        assert run["failure"] is None
        rates = [each["throughput_per_s"] for each in run["hosts"]]
        assert len(rates) == 3
        counters = run["counters"]
        whole = counters["middle_messages"] / counters["middle_ns"] * 1e9
        assert sum(rates) == pytest.approx(whole, rel=0.02)


def test_each_generator_has_its_share_of_many_connections(hosts: Hosts, tmp_path: Path) -> None:
    words = ("--only", "native/tinygram/nodelay", "--only", "asyncio/tinygram/tick")
    load = ("--connections", 40, "--rate", "4k", "--duration", "400ms", "--rounds", 1)
    result = run_and_read(hosts, tmp_path, "stream", *words, *load, "--clients", 2)
    ways = set()
    for run in result["runs"]:
        assert run["failure"] is None
        assert [each["connections"] for each in run["hosts"]] == [20, 20]
        assert [each["rate_per_s"] for each in run["hosts"]] == [2_000, 2_000]
        messages = [each["messages"] for each in run["hosts"]]
        assert run["counters"]["messages"] == sum(messages)
        assert min(messages) > 0
        ways.add(run["case_id"].split("/")[1])
    assert ways == {"native", "asyncio"}


def test_callers_are_shared_and_their_calls_add_up(hosts: Hosts, tmp_path: Path) -> None:
    words = ("--runtime", "native", "--callers", "2x6", "--request", 100)
    shape = ("--duration", "400ms", "--sends-per-request", 1)
    kinds = ("--connections", "per-caller", "--connections", "shared", "--strategy", "nodelay")
    result = run_and_read(
        hosts, tmp_path, "rr", *words, *shape, *kinds, "--rounds", 1, "--clients", 3
    )
    assert len(result["runs"]) == 2
    for run in result["runs"]:
        assert run["failure"] is None
        counters, rows = run["counters"], run["hosts"]
        assert counters["callers"] == 12
        # These are counters of the one process that all hosts call.
        assert counters["server_requests"] == counters["calls"] + 12 * 3 + 1
        assert counters["server_cpu_ns"] > 0
        assert counters["calls"] == sum(each["calls"] for each in rows)
        call = Histogram.from_base64(run["histograms"]["call_ns"])
        assert 0 < call.count <= counters["calls"]
        assert call.max_ns / 1e3 == max(each["call_max_us"] for each in rows)
        whole = counters["calls"] * counters["callers"] / counters["callers_time_ns"] * 1e9
        # All have as many callers: the mean is that of their rates, weighted by their time.
        rates = [each["calls_per_s"] for each in rows]
        assert 0 < min(rates) <= whole / len(rows) * 1.000001 <= max(rates) * 1.000002
        assert counters["step_error_ns"] > 0


@pytest.mark.parametrize("rate", [(), ("--rate", "3k", "--arrival", "poisson")])
def test_servers_under_test_answer_the_workers_of_all_generators(
    hosts: Hosts, tmp_path: Path, rate: tuple[object, ...]
) -> None:
    words = ("--only", "asyncio/protocol", "--only", "native/epoll", "--size", 100)
    shape = ("--workers", 6, "--depth", 2, "--duration", "400ms", "--rounds", 1)
    result = run_and_read(hosts, tmp_path, "echo", *words, *shape, *rate, "--clients", 3)
    assert len(result["runs"]) == 2
    for run in result["runs"]:
        assert run["failure"] is None
        counters, rows = run["counters"], run["hosts"]
        assert {each["server"] for each in rows}.isdisjoint(each["host"] for each in rows)
        assert counters["written_bytes"] == counters["bytes"]
        assert counters["cpu_ns"] > 0
        assert [each["connections"] for each in rows] == [2, 2, 2]
        assert [each["rate_per_s"] for each in rows] == [1_000 if rate else None] * 3
        assert min(each["messages"] for each in rows) > 0
        assert counters["messages"] == sum(each["messages"] for each in rows)
        if rate:
            assert counters["messages"] + counters["messages_not_begun"] == 1_200
        trips = Histogram.from_base64(run["histograms"]["round_trip_ns"])
        assert 0 < trips.count <= counters["messages"]
        assert trips.max_ns / 1e3 == max(each["round_trip_max_us"] for each in rows)
        assert counters["generators"] == 3
        assert counters["step_error_ns"] > 0


def test_echoes_over_tls_are_those_of_two_servers(hosts: Hosts, tmp_path: Path) -> None:
    words = ("--only", "asyncio/protocol", "--size", 100, "--tls", "--duration", "400ms")
    shape = ("--rounds", 1, "--servers", 2, "--clients", 2)
    result = run_and_read(hosts, tmp_path, "echo", *words, *shape)
    (run,) = result["runs"]
    assert run["failure"] is None
    counters, rows = run["counters"], run["hosts"]
    assert len({each["server"] for each in rows}) == 2
    assert [each["connections"] for each in rows] == [5, 5]
    assert counters["messages"] == sum(each["messages"] for each in rows)
    assert counters["wire_bytes"] == counters["bytes"] + (
        RECORD_OVERHEAD_BYTES * counters["tls_records"]
    )


def test_records_of_all_generators_add_up(hosts: Hosts, tmp_path: Path) -> None:
    words = ("--only", "asyncio/tinygram/nodelay", "--rate", "2k", "--duration", "400ms", "--tls")
    result = run_and_read(hosts, tmp_path, "stream", *words, "--rounds", 1, "--clients", 2)
    (run,) = result["runs"]
    assert run["failure"] is None
    counters = run["counters"]
    assert counters["messages"] == sum(each["messages"] for each in run["hosts"])
    assert counters["tls_records"] >= counters["messages"]
    (summary,) = result["summaries"]
    # The mean of both receivers' shares, each of its own core.
    assert 0 < summary["figures"]["receiver_cpu_share"]["median"] <= 1
    assert counters["wire_bytes"] == counters["bytes"] + (
        RECORD_OVERHEAD_BYTES * counters["tls_records"]
    )


def test_calls_over_tls_are_those_of_all_generators(hosts: Hosts, tmp_path: Path) -> None:
    words = ("--runtime", "threads", "--callers", "1x4", "--strategy", "nodelay", "--tls")
    shape = ("--request", 100, "--duration", "400ms", "--rounds", 1, "--clients", 2)
    kinds = ("--connections", "per-caller", "--sends-per-request", 1)
    result = run_and_read(hosts, tmp_path, "rr", *words, *shape, *kinds)
    (run,) = result["runs"]
    assert run["failure"] is None
    counters = run["counters"]
    assert 0 < counters["calls"] == sum(each["calls"] for each in run["hosts"])
    assert counters["tls_records"] == counters["calls"]


def test_a_plan_is_measured_again_on_as_many_hosts_and_what_differs_is_told_first(
    hosts: Hosts, tmp_path: Path
) -> None:
    before, again = tmp_path / "result.json", tmp_path / "again.json"
    earlier = run_and_read(hosts, tmp_path, "stream", *LOAD, "--rounds", 1, "--clients", 3)
    cluster = earlier["environment"]["cluster"]
    # Ray may place the server elsewhere: those that do as before are told apart from these.
    for each in cluster:
        each["kernel"] = "5.0"
    before.write_text(json.dumps(earlier))
    words = ("rerun", before, "--cluster", "auto")
    done = tinygram(hosts, *words, "--json", again)
    assert done.returncode == 0, done.stderr
    result = json.loads(again.read_text())
    assert result["plan"] == earlier["plan"]
    (run,) = result["runs"]
    assert [row["failure"] for row in run["hosts"]] == [None] * 3
    told = done.stdout.partition("The answer")[0]
    assert told.startswith("What differs from when it was measured\n")
    assert "kernel: 5.0 before, " in told
    cluster += [each for each in cluster if each["role"] == "server"]
    before.write_text(json.dumps(earlier))
    refused = tinygram(hosts, *words, "--json", again)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "by 5 hosts of a cluster" in refused.stderr
    assert "has 4 with a core for us" in refused.stderr


def test_check_tells_of_hosts_versions_clocks_and_paths(hosts: Hosts) -> None:
    done = tinygram(hosts, "cluster", "check")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("10.77.0.")]
    assert sorted(row[0] for row in rows) == [hosts.address(number) for number in (1, 2, 3, 4)]
    (first,) = [row for row in rows if len(row) == min(map(len, rows))]
    for row in rows:
        if row is not first:
            offset_us, bound_us, trip_us, there, back = (
                float(cell.replace(",", "")) for cell in row[-5:]
            )
            # The kernel's clock is one for all three.
            assert abs(offset_us) <= bound_us
            # Three digits are shown.
            assert trip_us / 2 <= bound_us * 1.01
            assert min(there, back) > 1


FAULTS = {
    "nobody listens": (("--cluster", "10.77.0.1:6380"), "no Ray cluster is there"),
    "no such host": (("--cluster", "10.77.0.9:6379"), "no Ray cluster is there"),
    "too few hosts": (("--cluster", "auto", "--clients", 5), "needs 6 hosts, and the cluster"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_done_is_one_line_within_seconds(hosts: Hosts, fault: str) -> None:
    words, told = FAULTS[fault]
    began_s = time.monotonic()
    done = tinygram(hosts, "stream", *words)
    assert time.monotonic() - began_s < LATEST_S
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("tinygram: error: ")
    assert told in line


def test_a_host_with_another_tinygram_is_named_by_check_and_by_a_run(tmp_path: Path) -> None:
    patch = "import tinygram\ntinygram.__version__ = '0.0.9'\n"
    (tmp_path / "sitecustomize.py").write_text(patch)
    with cluster_hosts(1) as hosts:
        hosts.start_ray(2, python_path=tmp_path)
        checked = tinygram(hosts, "cluster", "check")
        run = tinygram(hosts, "stream", *LOAD, "--cluster", "auto")
    for done in (checked, run):
        assert done.returncode == 2, done.stderr
        (line,) = done.stderr.splitlines()
        told = f"{hosts.address(2)} has tinygram 0.0.9, and this host {__version__}"
        assert told in line
        assert "install the same version on all hosts" in line
    assert [line for line in checked.stdout.splitlines() if "0.0.9" in line]


def test_a_server_that_is_no_ray_is_not_waited_for(hosts: Hosts) -> None:
    listener = subprocess.Popen(
        hosts.words(
            *(2, sys.executable, "-c"),
            "import socket\ns = socket.create_server(('10.77.0.2', 7000))\n"
            "print('up', flush=True)\n"
            "kept = []\nwhile True: kept.append(s.accept())",
        ),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert listener.stdout is not None
    try:
        assert listener.stdout.readline() == "up\n"
        began_s = time.monotonic()
        done = tinygram(hosts, "cluster", "check", "--cluster", "10.77.0.2:7000")
        assert time.monotonic() - began_s < LATEST_S
    finally:
        # Its own child, who listens, ends with the hosts.
        listener.kill()
        listener.wait()
        listener.stdout.close()
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("tinygram: error: --cluster 10.77.0.2:7000: ")


@pytest.mark.parametrize(
    ("load", "role", "shape"),
    [
        (("stream", *LOAD[:4]), "generator", ("--servers", 1, "--clients", 2)),
        (("stream", *LOAD[:4]), "server", ("--servers", 2, "--clients", 2)),
        (ECHO, "generator", ("--servers", 1, "--clients", 2)),
        (ECHO, "server", ("--servers", 2, "--clients", 2)),
    ],
    ids=["generator", "server", "generator of an echo", "server of an echo"],
)
def test_a_host_that_dies_is_named_and_the_others_go_on(
    tmp_path: Path, load: tuple[object, ...], role: str, shape: tuple[object, ...]
) -> None:
    file = tmp_path / "result.json"
    with cluster_hosts(sum(each for each in shape if isinstance(each, int))) as hosts:
        words = (*load, "--duration", "1s", "--rounds", 3, "--cluster", "auto")
        bench = (sys.executable, "-B", "-m", "tinygram_bench", *words, *shape, "--json", file)
        process = subprocess.Popen(
            hosts.words(1, *bench),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not file.exists():  # The first round is in it.
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        rows = json.loads(file.read_text())["runs"][0]["hosts"]
        # The bench itself is on the first host. A server takes its generator with it.
        left_out, dead = next(
            (each["host"], dead)
            for each in rows
            if (dead := each["host" if role == "generator" else "server"]) != hosts.address(1)
        )
        hosts.kill(int(dead.rpartition(".")[2]))
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert "Traceback" not in said
    (told,) = [each for each in said.splitlines() if "is left out from now on" in each]
    assert f"{left_out} is left out from now on" in told
    assert dead in told
    runs = json.loads(file.read_text())["runs"]
    assert len(runs) == 3
    assert {row["failure"] for row in runs[0]["hosts"]} == {None}
    for run in runs[1:]:
        failures = {row["host"]: row["failure"] for row in run["hosts"]}
        assert failures[left_out] is not None
        if len(run["histograms"]):
            (partial,) = [each for each in run["warnings"] if each["code"] == "partial_cluster"]
            assert left_out in partial["message"]
            assert run["counters"]["generators"] == 1
        else:
            assert left_out in run["failure"]
    assert runs[2]["failure"] is None
