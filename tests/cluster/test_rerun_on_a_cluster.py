"""`tinygram rerun --cluster`: a plan again, on as many hosts; what differs is told first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.in_process import conducted
from tests.support.command import Call, Refused

from tinygram_bench.cluster import ray_hosts, running
from tinygram_bench.cluster.conductor import Conductor
from tinygram_bench.cluster.ray_hosts import Node
from tinygram_bench.cluster.running import ClusterAsked
from tinygram_bench.model import store
from tinygram_bench.model.result import Plan

CLIENTS = 2
NAMES = ("alder", "birch", "cedar")
LOADS: dict[str, tuple[object, ...]] = {
    "stream": ("--only", "loop/nodelay", "--rate", "2k", "--duration", "400ms", "--seed", 5),
    "rr": (
        *("--runtime", "native", "--callers", "1x4", "--connections", "per-caller"),
        *("--strategy", "nodelay", "--sends-per-request", 1, "--duration", "200ms"),
    ),
    "echo": ("--only", "threads/recv", "--size", 1000, "--workers", 4, "--duration", "200ms"),
}
Asked = list[ClusterAsked]


class Hosts:
    """A cluster's hosts, each with a core."""

    def __init__(self, names: Sequence[str]) -> None:
        self.nodes = [
            Node(name, f"192.0.2.{number}", name, 1.0) for number, name in enumerate(names, start=1)
        ]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """A cluster within this process, which has what is asked of it written down here."""
    found: Asked = []

    @contextmanager
    def conducting(
        cluster: ClusterAsked, plan: Plan
    ) -> Iterator[tuple[Conductor, list[dict[str, Any]]]]:
        found.append(cluster)
        roles = ["server"] * cluster.servers + ["generator"] * cluster.clients
        nodes = Hosts(NAMES).nodes
        with conducted(plan, cluster.clients) as conductor:
            yield (
                conductor,
                [
                    {"host": node.host, "name": node.name, "role": role, "kernel": "6.18"}
                    for node, role in zip(nodes, roles, strict=True)
                ],
            )

    monkeypatch.setattr(running, "conducting", conducting)
    with_hosts(monkeypatch, NAMES)
    return found


def with_hosts(monkeypatch: pytest.MonkeyPatch, names: Sequence[str]) -> None:
    @contextmanager
    def reached(_address: str) -> Iterator[Hosts]:
        yield Hosts(names)

    monkeypatch.setattr(ray_hosts, "reached", reached)


def measured(call: Call, workload: str = "stream", rounds: int = 1) -> Any:
    """The result of a first measurement, in `before.json`."""
    words = (*LOADS[workload], "--cluster", "auto", "--clients", CLIENTS, "--rounds", rounds)
    done = call(workload, *words, "--json", "before.json", "--quiet")
    assert done.returncode == 0, done.stderr
    return json.loads(Path("before.json").read_text())


@pytest.mark.parametrize("workload", LOADS)
def test_a_plan_is_measured_again_by_as_many_hosts_and_what_differs_is_told_first(
    call: Call, asked: Asked, workload: str
) -> None:
    earlier = measured(call, workload)
    earlier["environment"]["uvloop"] = "0.1"
    _, first, second = earlier["environment"]["cluster"]
    first["kernel"] = "5.0"
    second["name"] = "dogwood"
    Path("before.json").write_text(json.dumps(earlier))
    done = call("rerun", "before.json", "--cluster", "192.0.2.1:6379", "--json", "again.json")
    assert done.returncode == 0, done.stderr
    assert asked[1:] == [ClusterAsked("192.0.2.1:6379", servers=1, clients=CLIENTS)]
    again = json.loads(Path("again.json").read_text())
    assert again["plan"] == earlier["plan"]
    (run,) = again["runs"]
    assert run["failure"] is None
    assert run["counters"]["generators"] == CLIENTS == len(run["hosts"])
    told, _, changed = done.stdout.partition("Since before.json")
    assert told.startswith("What differs from when it was measured\n")
    told = told.partition("The answer")[0]
    assert "- uvloop: 0.1 before, " in told
    assert "- not comparable: generator birch (192.0.2.2)'s kernel: 5.0 before, 6.18 after" in told
    # The host that has another name is told as such, and nothing else of it.
    generators = "birch (192.0.2.2), {} (192.0.2.3)"
    before, after = generators.format("dogwood"), generators.format("cedar")
    assert f"- not comparable: generators of the cluster: {before} before, {after} after" in told
    assert "server alder" not in told
    assert changed.startswith(" (")


def test_what_was_measured_again_and_anonymously_can_be_measured_again(
    call: Call, asked: Asked
) -> None:
    first = measured(call)
    words = ("--cluster", "auto", "--quiet")
    assert call("rerun", "before.json", *words, "--json", "2.json", "--anonymous").returncode == 0
    assert "alder" not in Path("2.json").read_text()
    assert call("rerun", "2.json", *words, "--json", "3.json").returncode == 0
    assert json.loads(Path("3.json").read_text())["plan"] == first["plan"]
    assert len(asked) == 3


REFUSED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "no cluster": ((), ("measured by the hosts of a cluster", "--cluster auto")),
    "a server": (("--server", "192.0.2.1", "--cluster", "auto"), ("and no --server",)),
    "programs": (
        ("--run-commands", "--cluster", "auto"),
        ("--cluster cannot be combined with --run-commands",),
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_a_cluster_needs_and_does_not_take_is_told(
    call: Call, asked: Asked, refused: Refused, why: str
) -> None:
    measured(call)
    words, said = REFUSED[why]
    refused(("rerun", "before.json", *words), said)
    assert len(asked) == 1


def test_a_cluster_of_fewer_hosts_is_refused_before_anything_is_written(
    call: Call, asked: Asked, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(call)
    with_hosts(monkeypatch, NAMES[:2])
    said = (
        "before.json was measured by 3 hosts of a cluster, 1 of them servers",
        "that of --cluster auto has 2 with a core for us: add hosts",
    )
    refused(("rerun", "before.json", "--cluster", "auto", "--json", "again.json"), said)
    assert not Path("again.json").exists()
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        ([{"role": "generator"}], "a cluster with servers: 0, clients: 1;"),
        ([{"role": "server"}] * 2 + [{"role": "generator"}], "servers: 2, clients: 1;"),
        ([{"name": "alder"}], "the values contradict each other"),
        (5, "the values contradict each other"),
        ([{"role": "server"}, *({"role": "generator"},) * 101], "fewer"),
    ],
)
def test_a_file_that_tells_of_no_such_cluster_is_refused(
    call: Call, asked: Asked, refused: Refused, hosts: object, said: str
) -> None:
    earlier = measured(call, "rr")
    earlier["environment"]["cluster"] = hosts
    Path("before.json").write_text(json.dumps(earlier))
    refused(("rerun", "before.json", "--cluster", "auto"), (said,))
    assert len(asked) == 1


def test_a_result_of_one_host_takes_no_cluster(call: Call, asked: Asked, refused: Refused) -> None:
    words = ("--only", "loop/nodelay", "--duration", "40ms", "--rounds", 1, "--quiet")
    assert call("stream", *words, "--json", "before.json").returncode == 0
    said = ("--cluster auto is for a result", "before.json was not", "leave it out")
    refused(("rerun", "before.json", "--cluster", "auto"), said)
    assert store.load(Path("before.json")).environment.get("cluster") is None
    assert asked == []
