"""The options by which a workload is measured on a cluster, and their checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from tinygram_bench.cli import quantities
from tinygram_bench.cli.bounds import between, check_descriptors, sendable
from tinygram_bench.cluster.shares import check_server_descriptors, of_all, shared_out
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import EchoParameters, RrParameters
from tinygram_bench.model.result import Case, Plan
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.runs.slices import SLICE_NS, least_held, least_messages, stream_slice_ns

if TYPE_CHECKING:
    from tinygram_bench.cluster.running import ClusterAsked

MOST_CLIENTS = 10_000

Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="auto|HOST:PORT",
        help="Ray cluster that this host is a node of (extra `cluster`): the load is shared by its "
        "hosts. Only stream, rr and echo can do that.",
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
    """What is asked of the cluster (None: nothing). `never_with`: option → whether it is given.

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
        hosts = hosts_of(address)
        clients = hosts - servers
        if clients < 1:
            raise UsageError(
                f"--cluster {address} has {hosts} hosts with a core for us, and {servers} for "
                "far ends and one generator are the fewest: add hosts with `ray start "
                "--address=…`"
            )
    clients = between("--clients", clients, 1, MOST_CLIENTS)
    if servers > clients:
        raise UsageError(
            f"--servers {servers} is more than the {clients} clients: each has one server; ask for "
            f"--servers {clients} at most"
        )
    return of(address, servers, clients)


def of(address: str, servers: int, clients: int) -> ClusterAsked:
    """These hosts of that cluster."""
    # The packages that clusters need take long to import.
    from tinygram_bench.cluster.running import ClusterAsked

    return ClusterAsked(address, servers, clients)


def hosts_of(address: str) -> int:
    """How many hosts of the cluster could measure. Raises UsageError."""
    from tinygram_bench.cluster.ray_hosts import reached

    with reached(address) as cluster:
        return sum(each.cores >= 1 for each in cluster.nodes)


def checked(plan: Plan, servers: int, clients: int) -> Plan:
    """Return the plan. Raises UsageError where a host cannot have its share of a case."""
    for case in plan.cases:
        _check_callers(case, clients)
        _check_workers(case, clients)
        shares = shared_out(case, clients, plan.seed)
        _check_slices(case, shares[-1], clients)
        of_a_host = replace(plan, cases=shares[:1])
        if case.rate_per_s is not None:
            try:
                sendable(of_a_host)
            except UsageError as error:
                raise UsageError(
                    f"of --rate {case.rate_per_s:g} the largest share of {clients} clients cannot "
                    f"be sent: {error}"
                ) from error
        if shares[0].connections > 1:
            option = "--workers" if case.workload == "echo" else "--connections"
            check_descriptors(f"{option} of each client", of_a_host)
        if case.workload != "stream":
            # Clients are dealt out to the servers in turn: the first server has the largest shares.
            check_server_descriptors(of_all(case, shares[::servers]))
    return plan


def check_connections(counts: Sequence[int], clients: int) -> None:
    """Raise UsageError where a generator would have one of many connections, or none."""
    for count in counts:
        if 1 < count < 2 * clients:
            raise UsageError(
                f"--connections {count} are fewer than two for each of {clients} clients: ask for "
                f"{2 * clients} or more, for fewer --clients, or leave --connections out, by which "
                "each client has one"
            )


def _check_callers(case: Case, clients: int) -> None:
    """Raise UsageError where a generator would have no caller."""
    asked = case.parameters
    if isinstance(asked, RrParameters) and asked.callers_per_process < clients:
        raise UsageError(
            f"--callers {asked.processes}x{asked.callers_per_process} are fewer in a process than "
            f"the {clients} clients that share them: ask for {asked.processes}x{clients} or more, "
            "or for fewer --clients"
        )


def _check_workers(case: Case, clients: int) -> None:
    """Raise UsageError where a generator would have no worker."""
    if isinstance(case.parameters, EchoParameters) and case.connections < clients:
        raise UsageError(
            f"--workers {case.connections} are fewer than the {clients} clients that share them: "
            f"ask for {clients} or more, for fewer --clients, or leave --workers out"
        )


def _check_slices(case: Case, share: Case, clients: int) -> None:
    """Raise UsageError where slices, which keep hosts in step, are missing or too short."""
    slice_ns = case.parameters.slice_ns
    if case.rate_per_s is None or share.rate_per_s is None:
        if slice_ns is None:
            raise UsageError(
                f"--duration is too short for a slice of {case.case_id} on each of {clients} "
                f"clients: allow --duration {format_duration_ns(SLICE_NS)} or more"
            )
        return
    burst = share.burst or 1
    if slice_ns is None:
        least_ns = stream_slice_ns(share.rate_per_s, burst)
        raise UsageError(
            f"{clients} clients share --rate {case.rate_per_s:g}, and a slice has at least "
            f"{least_held(burst)} of each: allow --duration {format_duration_ns(least_ns)} "
            "or more, a higher --rate, or fewer --clients"
        )
    if round(share.rate_per_s * slice_ns / 1e9) < least_messages(burst):
        raise UsageError(
            f"--slice {format_duration_ns(slice_ns)} holds fewer than {least_held(burst)} of "
            f"each of {clients} clients at --rate {case.rate_per_s:g}: name a longer one, a higher "
            "--rate, or fewer --clients"
        )
