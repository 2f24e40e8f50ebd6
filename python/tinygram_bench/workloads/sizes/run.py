"""Runs of `sizes`: the orders for a server and a client, and what they must agree on.

A run is alone, or the runs of all cases of a link are made together: one server with a port for
each case, and one client whose samples alternate.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from tinygram_bench.host.network import Network
from tinygram_bench.host.placement import Placement, placement
from tinygram_bench.host.probes.kernel import KERNEL_COUNTERS, counted_between
from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, Plan, Run, Warning
from tinygram_bench.processes.orders import End
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.attempts import attempt
from tinygram_bench.runs.stage import Address, Turn
from tinygram_bench.runs.workload import Alternates, Exchanged
from tinygram_bench.statistics.workloads.sizes import TIME
from tinygram_bench.workloads.sizes.cases import first_sample
from tinygram_bench.workloads.sizes.order import Cell, Order, Report, ServerOrder
from tinygram_bench.workloads.warnings import host_network_told, retransmits_told, strangers_told

PACKAGE = "tinygram_bench.workloads.sizes"
_SERVER = "server"
Counters = dict[str, int | None]


class Sizes(Alternates):
    """A server, and a client that takes samples; or the local parts of a sample."""

    def where(self, case: Case) -> Placement:
        """The cores of the two ends; the local parts differ in these."""
        part = SizesParameters.of(case).part
        if part is None:
            return placement(case.placement)
        return placement("apart" if part == "other-core" else "same")

    def listen(self, turn: Turn) -> Address | None:
        """Have our server listen, unless another runs already; a local part has none."""
        if SizesParameters.of(turn.case).part is not None:
            return None
        (address,) = self._addresses(turn, [turn.case])
        return address

    def exchange(self, turn: Turn, address: Address | None) -> Exchanged:
        """Have the client take all samples."""
        client = turn.stage.near("client", f"{PACKAGE}.client")
        before = turn.stage.counters()
        client.tell(self._order(turn, [turn.case], [] if address is None else [address]))
        (report,) = turn.hear(client, list[Report])
        counted: Counters = {}
        if SizesParameters.of(turn.case).part is None:
            # The kernel's counters cover all connections, including the first samples'.
            counted |= counted_between(before, turn.stage.counters())
        (served,) = _served(turn, 1)
        run = _run(turn, turn.case, report, served, counted)
        return Exchanged(run, report.start_ns)

    def alternated(self, turn: Turn, cases: Sequence[Case]) -> Sequence[Run]:
        """Have the client take a sample of each case in every cycle; a case that fails has a run
        that says so. Raises OSError and RunError.

        The kernel counts for a network, and so for all cases together: no case has its counters.
        """
        addresses = self._addresses(turn, cases)
        turn.begin()
        client = turn.stage.near("client", f"{PACKAGE}.client")
        client.tell(self._order(turn, cases, addresses))
        reports = turn.hear(client, list[Report])
        counted: Counters = dict.fromkeys(KERNEL_COUNTERS)
        found = zip(cases, reports, _served(turn, len(cases)), strict=True)
        return [
            attempt(case, turn.round, partial(_with_cycles, turn, case, report, served, counted))
            for case, report, served in found
        ]

    def first_call(self, plan: Plan) -> tuple[bytes, int]:
        """A sample of the smallest size."""
        cases = [case for case in plan.cases if SizesParameters.of(case).part is None]
        sizes_bytes = [case.message_bytes.max for case in cases]
        return first_sample(sizes_bytes, [SizesParameters.of(case).round_trips for case in cases])

    def _addresses(self, turn: Turn, cases: Sequence[Case]) -> list[Address]:
        """The address at which a server listens for each case. Raises OSError and RunError."""
        running = self.server_address(cases[0])
        if running is not None:
            return [running] * len(cases)
        server = turn.stage.far(_SERVER, f"{PACKAGE}.server")
        server.tell(
            ServerOrder(
                ports=len(cases),
                sample_bytes=max(map(_sample_bytes, cases)),
                seed=self.seed,
                congestion_control=turn.case.parameters.congestion_control,
                host=turn.link.far_address,
                client=turn.link.client,
            )
        )
        return [turn.listening(server) for _ in cases]

    def _order(self, turn: Turn, cases: Sequence[Case], addresses: Sequence[Address]) -> Order:
        """The client's order. `addresses`: those of each case; none for a local part."""
        asked = SizesParameters.of(turn.case)
        part = asked.part
        has_far_thread = part in ("same-core", "other-core")
        cells = zip(cases, addresses, strict=True) if part is None else ()
        order = random.Random(f"{self.seed}/{turn.round}/{turn.case.link}")
        return Order(
            part=part,
            far_cpu=turn.stage.where.receiver_cpu if has_far_thread else None,
            cells=tuple(_cell(case, address) for case, address in cells),
            congestion_control=asked.congestion_control,
            seed=self.seed,
            order_seed=order.getrandbits(64),
            # Less than the run's limit, so that the client reports what it waited for in vain.
            timeout_ns=asked.timeout_ns // 2,
            first_samples=asked.first_samples,
            samples=asked.samples,
            client=turn.link.client,
        )


def _cell(case: Case, address: Address) -> Cell:
    asked = SizesParameters.of(case)
    return Cell(
        address=str(address),
        message_bytes=case.message_bytes.max,
        round_trips=asked.round_trips,
        is_setup_joined=asked.setup_writes == 1,
        strategy=case.strategy,
    )


def _served(turn: Turn, ports: int) -> list[dict[str, int] | None]:
    """End our server's run; return what it counted on each port, None where another one serves.

    Raises RunError.
    """
    if not turn.stage.has(_SERVER):
        return [None] * ports
    server = turn.stage.child(_SERVER)
    server.tell(End())
    return [*turn.hear(server, list[dict[str, int]])]


def _with_cycles(
    turn: Turn, case: Case, report: Report, served: dict[str, int] | None, counted: Counters
) -> Run:
    run = _run(turn, case, report, served, counted)
    # In microseconds, as the figure on which cases are compared.
    return replace(run, slices={TIME: report.totals_us})


def _run(
    turn: Turn, case: Case, report: Report, served: dict[str, int] | None, counted: Counters
) -> Run:
    """The run of a case. Raises RunError where a sample failed, or the server counted others."""
    if report.failure is not None:
        raise RunError(f"the client failed in {report.failure}")
    counters: Counters = {**report.counters, **counted}
    if served is not None:
        counters |= _agreed(case, served)
    warnings = _warnings(case, counters, turn.link.near)
    return Run(case.case_id, turn.round, counters, report.histograms, warnings)


def _connections(case: Case) -> int:
    """One for each sample; with round trips one more, whose last byte is withheld (client.rs)."""
    asked = SizesParameters.of(case)
    withheld = 1 if asked.round_trips else 0
    return asked.first_samples + withheld + asked.samples


def _sample_bytes(case: Case) -> int:
    return case.message_bytes.max * SizesParameters.of(case).round_trips


def _agreed(case: Case, counters: dict[str, int]) -> dict[str, int]:
    """The server's counters, checked to have every sample and every byte."""
    connections = _connections(case)
    expected = {
        "server_samples": connections,
        "server_compared_samples": connections if _sample_bytes(case) else 0,
        "server_bytes": connections * _sample_bytes(case),
    }
    for name, count in expected.items():
        if counters[name] != count:
            what = name.removeprefix("server_").replace("_", " ")
            raise RunError(f"the server counted {counters[name]} {what} where {count} were sent")
    return counters


def _warnings(case: Case, counters: dict[str, int | None], network: Network) -> tuple[Warning, ...]:
    """The warnings on one run's figures."""
    asked = SizesParameters.of(case)
    if asked.part is not None:
        return ()
    warnings = [
        *strangers_told(counters, "server_refused_connections", "server_idle_connections"),
        *retransmits_told(counters["retransmits"]),
    ]
    if asked.server_address is not None:
        warnings.append(
            Warning(
                "other_server",
                f"the server at {asked.server_address} is another program: its bytes "
                "were not compared, and nothing is known of its placement",
            )
        )
    else:
        warnings.extend(host_network_told(has_private_network=network.is_private))
    return tuple(warnings)
