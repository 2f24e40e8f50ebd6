"""`tinygram rerun`: a stored result's plan again, here and now."""

from __future__ import annotations

import shlex
import socket
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from tinygram_bench.cli import options, stored
from tinygram_bench.cli.bounds import refuse_with
from tinygram_bench.cli.commands.cluster import asked as cluster_asked
from tinygram_bench.cli.measuring import Asked, measure_and_show
from tinygram_bench.cli.terminal import console
from tinygram_bench.hosts.address import FarAddress
from tinygram_bench.hosts.wire import PORT
from tinygram_bench.links import DEFAULT_BACKEND, parse_links, prepare
from tinygram_bench.links.spec import LOOPBACK, REMOTE
from tinygram_bench.measurement.anonymous import LEFT_OUT
from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan, Result, Unavailable
from tinygram_bench.report.comparing import differences_told, write_comparison
from tinygram_bench.report.table import Pen
from tinygram_bench.runs.workload import Workload
from tinygram_bench.statistics.changes.comparable import hindrances, other_differences
from tinygram_bench.statistics.changes.comparison import compare_results
from tinygram_bench.workloads.available import Missing, parted
from tinygram_bench.workloads.echo import cases as echo_cases
from tinygram_bench.workloads.echo.run import Echo
from tinygram_bench.workloads.fanout import cases as fanout_cases
from tinygram_bench.workloads.fanout.run import Fanout
from tinygram_bench.workloads.rr import cases as rr_cases
from tinygram_bench.workloads.rr.run import Rr
from tinygram_bench.workloads.sizes import cases as sizes_cases
from tinygram_bench.workloads.sizes.run import Sizes
from tinygram_bench.workloads.stream import cases as stream_cases
from tinygram_bench.workloads.stream.run import Stream

if TYPE_CHECKING:
    from tinygram_bench.cluster.running import ClusterAsked

_WORKLOADS: Mapping[str, tuple[Callable[[int], Workload], Missing]] = {
    "stream": (Stream, stream_cases.missing),
    "rr": (Rr, rr_cases.missing),
    "echo": (Echo, echo_cases.missing),
    "fanout": (Fanout, fanout_cases.missing),
    "sizes": (Sizes, sizes_cases.missing),
}
"""What makes the runs of a workload, by the seed, and tells why a case of it cannot run here."""

_BEFORE = "it could not run where the plan was first measured: "


def rerun(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The result to measure again.")],
    json: Annotated[Path | None, options.result_file("rerun")] = None,
    run_commands: Annotated[
        bool,
        typer.Option(
            "--run-commands", help="Run the programs, and load the servers, that the file names."
        ),
    ] = False,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="Host of the far end, where `tinygram serve` runs, for a result between two "
            "hosts.",
            show_default="the result's",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="auto|HOST:PORT",
            help="Ray cluster that this host is a node of, for a result of a cluster.",
            show_default=False,
        ),
    ] = None,
    anonymous: options.Anonymous = False,
    quiet: options.Quiet = False,
    notes: options.Notes = False,
    wait: options.Wait = False,
) -> int:
    """Measure a result's plan again, with its seed, and say what changed since.

    What differs in the environment, of every host that measures, is told before the first run; the
    result is stored like any other.
    """
    earlier = stored.load(file)
    workload, missing = _workload_of(earlier, file)
    far = _far_end(earlier, server, cluster, file)
    plan = _of_this_host(earlier.plan, missing, file)
    if not run_commands:
        _refuse_commands(plan, file)
    if json is not None and store.real_path(json) == store.real_path(file):
        raise UsageError(f"--json {json} is the result to compare with: name another file")
    if cluster is not None:
        refuse_with(
            "--cluster", {"--run-commands": run_commands}, "a cluster measures no other programs"
        )
    on_cluster = None if cluster is None else _cluster_again(earlier, plan, cluster, file)
    destination = options.destination("rerun", json, None, anonymous)
    with stored.made_of(file):
        _prepare_links(plan)
    pen = Pen(console(is_on_stderr=destination.is_standard_output))

    def tell_environment(found: Mapping[str, Any]) -> None:
        if not quiet:
            with stored.made_of(file):
                _tell_differences(pen, earlier, found)

    manner = options.manner(quiet, False, notes, was_awake(earlier), wait, far, on_cluster)
    asked = Asked(plan, workload, destination, manner, tell_environment=tell_environment)
    code = measure_and_show(asked)
    # Do this also where a run failed or after Ctrl-C: the finished runs can be compared.
    if destination.saved is not None and not quiet:
        pen.head(f"Since {file} ({earlier.started_at or 'at an unknown time'})")
        with stored.made_of(file):
            write_comparison(pen, compare_results(earlier, destination.saved), ())
    return code


def _of_this_host(plan: Plan, missing: Missing, file: Path) -> Plan:
    """The plan with the cases that cannot run here as unavailable ones. Raises UsageError.

    Cases that the file's host could not run stay out: there would be nothing to compare them with.
    """
    here, not_here = parted(plan.cases, missing)
    if not_here and plan.sweep is not None:
        raise UsageError(
            f"{file} cannot be measured again here: {not_here[0].case.case_id}: "
            f"{not_here[0].reason}; each point of a sweep has the same cases"
        )
    before = (Unavailable(each.case, _before(each.reason)) for each in plan.unavailable)
    return msgspec.structs.replace(plan, cases=here, unavailable=(*not_here, *before))


def _before(reason: str) -> str:
    """The reason, marked once as that of the host on which the plan was first measured."""
    return reason if reason.startswith(_BEFORE) else f"{_BEFORE}{reason}"


def _workload_of(earlier: Result, file: Path) -> tuple[Workload, Missing]:
    """The workload that runs the plan's cases, and why one of them cannot run here.

    Raises UsageError where the file says too little.
    """
    names = {case.workload for case in earlier.plan.cases}
    remedy = "measure anew with the command of its workload"
    if not names:
        raise UsageError(f"{file} cannot be measured again: its plan has no case; {remedy}")
    again = f"call its command again: {shlex.join(earlier.command)}"
    if "study" in earlier.environment or len(names) > 1:
        raise UsageError(
            f"{file} cannot be measured again from its file: the command decides by itself what it "
            f"runs; {again}"
        )
    if earlier.cross_check is not None:
        raise UsageError(
            f"{file} cannot be measured again from its file: it has other programs beside "
            f"(--cross-check), whose versions are their own; {again}"
        )
    if LEFT_OUT in msgspec.json.encode(earlier.plan).decode():
        raise UsageError(
            f"{file} cannot be measured again: it is anonymous, and its plan leaves out what it "
            f"needs; {remedy}"
        )
    make, missing = _WORKLOADS[names.pop()]
    return make(earlier.plan.seed), missing


def _cluster_again(earlier: Result, plan: Plan, address: str, file: Path) -> ClusterAsked:
    """The cluster, with as many servers and clients as measured before.

    Raises UsageError where it has fewer.
    """
    with stored.made_of(file):
        roles = Counter(str(each["role"]) for each in earlier.environment["cluster"])
        servers, clients = roles["server"], roles["generator"]
        if not 1 <= servers <= clients:
            raise UsageError(
                f"{file} cannot be measured again: it tells of a cluster with servers: {servers}, "
                f"clients: {clients}; measure anew with the command of its workload"
            )
        cluster_asked.checked(plan, servers, clients)
    hosts = cluster_asked.hosts_of(address)
    if hosts < servers + clients:
        raise UsageError(
            f"{file} was measured by {servers + clients} hosts of a cluster, {servers} of them "
            f"servers, and that of --cluster {address} has {hosts} with a core for us: add hosts "
            "with `ray start --address=…`, or measure anew with fewer --clients"
        )
    return cluster_asked.of(address, servers, clients)


def _far_end(
    earlier: Result, server: str | None, cluster: str | None, file: Path
) -> FarAddress | None:
    """The host of the far end: that of `--server`, or else the result's; None: it had none.

    The result's host is used though its file may be from others, for nothing is sent to another
    machine unless the key of its server was pasted here. A cluster has no such keys: it is named
    anew. Raises UsageError.
    """
    if "cluster" in earlier.environment:
        if server is not None or cluster is None:
            raise UsageError(
                f"{file} was measured by the hosts of a cluster: name the one that is to measure "
                "it again with --cluster auto, or --cluster HOST:PORT, and no --server"
            )
        return None
    if cluster is not None:
        raise UsageError(
            f"--cluster {cluster} is for a result that was measured by the hosts of a cluster, and "
            f"{file} was not: leave it out, or measure anew with the command of its workload"
        )
    if all(case.link != REMOTE for case in earlier.plan.cases):
        if server is not None:
            raise UsageError(
                f"--server {server} is for a result that was measured between two hosts, and "
                f"{file} was not: leave it out, or measure anew with the command of its workload"
            )
        return None
    if server is None:
        far = earlier.environment.get("far")
        host, port = (far.get("host"), far.get("port", PORT)) if isinstance(far, dict) else (0, 0)
        is_port = type(port) is int and 0 < port < 1 << 16
        if not isinstance(host, str) or LEFT_OUT in host or not is_port:
            raise UsageError(
                f"{file} was measured between two hosts, and does not say which was the far end: "
                "name one on which `tinygram serve` runs with --server HOST"
            )
        server = FarAddress(host, host, port).named
    return options.far_end(server, is_ours=True)


def was_awake(earlier: Result) -> bool:
    """Whether cores were kept awake, as by `--awake`; over emulated links that needs no option."""
    is_asked = all(case.link in (LOOPBACK, REMOTE) for case in earlier.plan.cases)
    return is_asked and earlier.environment.get("cpu_latency_limit_us") == 0


def _refuse_commands(plan: Plan, file: Path) -> None:
    """Raise UsageError where the plan names programs or servers: its file may be from others.

    A server of which only the address is known would get the load, whoever owns it.
    """
    told: dict[str, None] = {}
    for case in plan.cases:
        asked = case.parameters
        command = getattr(asked, "server_command", None) or getattr(asked, "receiver_command", None)
        address = getattr(asked, "server_address", None)
        if command is not None:
            told[f"runs the program {command!r}"] = None
        elif address is not None:
            told[f"sends its load to the server {address!r}"] = None
    if told:
        raise UsageError(
            f"measuring {file} again {' and '.join(told)}, as the file says: add --run-commands "
            "if you trust whoever made it"
        )


def _prepare_links(plan: Plan) -> None:
    """Prepare to make the plan's links here. Raises UsageError where that is impossible."""
    backends = [case.parameters.link_backend for case in plan.cases]
    named = next((each for each in backends if each is not None), DEFAULT_BACKEND)
    prepare(parse_links([case.link for case in plan.cases]), named)


def _tell_differences(pen: Pen, earlier: Result, found: Mapping[str, Any]) -> None:
    now = msgspec.structs.replace(
        earlier,
        environment=msgspec.json.decode(msgspec.json.encode(found)),
        host=None if earlier.host is None else socket.gethostname(),
    )
    told = differences_told(hindrances(earlier, now), other_differences(earlier, now))
    pen.write("What differs from when it was measured", "bold cyan")
    pen.list(told or ("nothing that is known of hosts, kernels, settings and versions",))
    sys.stdout.flush()
