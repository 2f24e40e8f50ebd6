"""The options by which a workload is measured on a cluster, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from tinygram_bench.cli import quantities
from tinygram_bench.cli.bounds import between
from tinygram_bench.cluster.ray_hosts import reached
from tinygram_bench.cluster.running import ClusterAsked
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.runs.slices import LEAST_MESSAGES

MOST_CLIENTS = 10_000

Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="auto|HOST:PORT",
        help="Ray cluster that this host is a node of (extra `cluster`): the load is shared by its "
        "hosts. Of the workloads stream alone can do that.",
        show_default=False,
    ),
]
Servers = Annotated[
    int | None, quantities.count("Hosts of the cluster that have the far ends.", "1")
]
Clients = Annotated[
    int | None,
    quantities.count("Hosts of the cluster that share the load, a generator each.", "all others"),
]


def clustered(
    address: str | None,
    servers: int | None,
    clients: int | None,
    never_with: Mapping[str, bool],
) -> ClusterAsked | None:
    """What is asked of the cluster; None: nothing is. `never_with`: options, and which were given.

    Raises UsageError.
    """
    if address is None:
        for option, value in {"--servers": servers, "--clients": clients}.items():
            if value is not None:
                raise UsageError(f"{option} needs --cluster auto, or --cluster HOST:PORT")
        return None
    for option, is_given in never_with.items():
        if is_given:
            raise UsageError(
                f"--cluster cannot be combined with {option}: that is for cases of one host"
            )
    servers = between("--servers", 1 if servers is None else servers, 1, MOST_CLIENTS)
    if clients is None:
        with reached(address) as cluster:
            hosts = [each for each in cluster.nodes if each.cores >= 1]
        clients = len(hosts) - servers
        if clients < 1:
            raise UsageError(
                f"--cluster {address} has {len(hosts)} hosts with a core for us, and {servers} for "
                "far ends and one generator are the fewest: add hosts with `ray start "
                "--address=…`"
            )
    clients = between("--clients", clients, 1, MOST_CLIENTS)
    if servers > clients:
        raise UsageError(
            f"--servers {servers} is more than the {clients} clients: each has one server; ask for "
            f"--servers {clients} at most"
        )
    return ClusterAsked(address, servers, clients)


def checked(plan: Plan, clients: int) -> Plan:
    """The plan. Raises UsageError where a case has no slices: hosts are in step by them."""
    for case in plan.cases:
        if case.parameters.slice_ns is not None:
            continue
        least_ns = round(LEAST_MESSAGES * clients * 1e9 / (case.rate_per_s or 1))
        raise UsageError(
            f"{clients} clients share --rate {case.rate_per_s or 0:g}, and a slice has at least "
            f"{LEAST_MESSAGES} messages of each: allow --duration {format_duration_ns(least_ns)} "
            "or more, a higher --rate, or fewer --clients"
        )
    return plan
