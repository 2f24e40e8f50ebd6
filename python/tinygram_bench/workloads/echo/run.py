"""One run of `echo`: the orders for a server under test and the client, and their answers."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress

from msgspec import Struct

from tinygram_bench.host.network.connections import Known
from tinygram_bench.host.network.settings import set_congestion_control
from tinygram_bench.host.probes.far_ends import congestion_controls
from tinygram_bench.host.probes.kernel import Counted, counted_between
from tinygram_bench.host.probes.listening import is_listening, wait_listening
from tinygram_bench.links import FAR_VARIABLE
from tinygram_bench.model.parameters import EchoParameters
from tinygram_bench.model.result import Case, Plan
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.processes.children import Child
from tinygram_bench.processes.orders import End, Go, Ready, Start
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.runs.stage import Address, Turn
from tinygram_bench.runs.workload import Exchanged, Rehearsed, TakesTurns, Waiting
from tinygram_bench.statistics.workloads.loads import is_external
from tinygram_bench.workloads.echo.cases import held_ns, in_flight_ns
from tinygram_bench.workloads.echo.marks import (
    Marks,
    NoMarks,
    OwnMarks,
    ServerUsed,
    SessionMarks,
    rested,
    since,
)
from tinygram_bench.workloads.echo.order import ClientOrder, Pace, Report, ServerOrder
from tinygram_bench.workloads.echo.outcome import Found, assembled
from tinygram_bench.workloads.echo.slices import Sliced
from tinygram_bench.workloads.turns import arrival_seed

PACKAGE = "tinygram_bench.workloads.echo"
SERVER = "server"
"""The role of the server under test on its stage."""


class Echo(TakesTurns):
    """A server under test, which sends back what it reads, and a client that checks it.

    `generator`: the number of this host among those of a cluster, which have arrivals of their own.
    """

    def __init__(self, seed: int, generator: int = 0) -> None:
        super().__init__(seed)
        self._generator = generator

    def server_address(self, case: Case) -> Address | None:
        """The address of `--server`; the program of `--server-command` is started by us."""
        is_started = EchoParameters.of(case).server_command is not None
        return None if is_started else super().server_address(case)

    def foreign_server(self, case: Case) -> str | None:
        """The option and value of `--server` or `--server-command`."""
        command = EchoParameters.of(case).server_command
        if is_external(case) and command is not None:
            return f"--server-command {command!r}"
        return super().foreign_server(case)

    def first_call(self, plan: Plan) -> tuple[bytes, int]:
        """The smallest message of the plan, which comes back whole."""
        size = min(case.message_bytes.max for case in plan.cases)
        return bytes(size), size

    def limit_s(self, case: Case) -> float:
        """Connecting, warming up and ending may each take the timeout, in addition to the run."""
        asked = EchoParameters.of(case)
        return 3 * asked.timeout_ns / 1e9 + (asked.duration_ns or 0) / 1e9

    def listen(self, turn: Turn) -> Address:
        """Have the server under test listen: ours, the user's, or one that runs already."""
        case = turn.case
        running = self.server_address(case)
        if running is not None:
            return running
        if is_external(case):
            return _start_external(turn)
        if case.case_id in self.offered:
            return self.listen_to_offered(turn)
        return turn.stage.once("listening", lambda: _start_ours(turn))

    def own_ns(self, case: Case) -> int:
        return EchoParameters.of(case).duration_ns or 0

    def waits_ns(self, case: Case) -> int:
        return in_flight_ns(case)

    def exchange(self, turn: Turn, address: Address | None) -> Exchanged:
        """Have the client exchange messages; the server's marks are taken while both rest."""
        warm = self._warm(turn, address)
        warm.client.tell(Go())
        return _collected(turn, warm)

    def rehearsed(self, turn: Turn, address: Address | None) -> Rehearsed:  # noqa: ARG002 - others try
        """How long a held message takes, which is known; others need no longer slices."""
        case = turn.case
        if not held_ns(case):
            return Rehearsed()
        return Rehearsed(in_flight_ns(case), case.connections * EchoParameters.of(case).depth)

    def warmed_up(self, turn: Turn, address: Address | None, slices: Slices) -> Waiting:
        """Have the client connect and warm up, and wait for its slices."""
        warm = self._warm(turn, address, slices)
        is_offered = turn.case.case_id in self.offered
        began_ns: list[int] = []

        def start(at_ns: int) -> None:
            began_ns.append(at_ns)
            warm.client.tell(Start(at_ns))

        def collect(used: Used) -> Exchanged:
            turn.hear(warm.client, Ready)
            warm.client.tell(Go())
            return _collected(turn, warm, Sliced(used, began_ns[0]), is_offered=is_offered)

        return Waiting(warm.pids, (warm.client.worker.pid,), [warm.client], start, collect)

    def _warm(self, turn: Turn, address: Address | None, slices: Slices | None = None) -> _Warm:
        assert address is not None, "there is always a server"
        return _warmed_up(turn, address, self._client_order(turn, address, slices))

    def _client_order(self, turn: Turn, address: Address, slices: Slices | None) -> ClientOrder:
        case = turn.case
        asked = EchoParameters.of(case)
        is_ours = turn.stage.has(SERVER) or case.case_id in self.offered
        return ClientOrder(
            host=address.host,
            port=address.port,
            seed=self.seed,
            message_bytes=case.message_bytes.max,
            workers=case.connections,
            depth=asked.depth,
            warm_up=asked.warm_up_messages,
            messages=asked.messages,
            duration_ns=asked.duration_ns,
            timeout_ns=asked.timeout_ns,
            trusts=asked.fault is not None,
            # The core of a server that runs already is not known here.
            polls=case.placement == "apart" and self.server_address(case) is None,
            congestion_control=asked.congestion_control,
            client=turn.link.client if is_ours else Known(),
            slices=slices,
            certificate=turn.stage.certificate() if asked.tls else None,
            pace=_pace(case, arrival_seed(self.seed, turn.round, self._generator)),
        )


class _Warm(Struct, frozen=True):
    """A client that has warmed up, and what server and kernel had counted by then.

    `pids`: the server's processes; none where it runs already.
    """

    order: ClientOrder
    client: Child
    marks: Marks
    congestion_controls: tuple[str, ...]
    pids: tuple[int, ...]
    kernel: Counted
    used: ServerUsed


def _pace(case: Case, seed: int) -> Pace | None:
    """When the messages of a case with a rate are due."""
    if case.rate_per_s is None:
        return None
    return Pace(case.rate_per_s, str(case.arrival), seed)


def _warmed_up(turn: Turn, address: Address, order: ClientOrder) -> _Warm:
    """Have the client connect and warm up. Raises RunError."""
    link = turn.link
    client = turn.stage.near("client", f"{PACKAGE}.client")
    client.tell(order)
    turn.hear(client, Ready)
    marks = _marks_of(turn)
    return _Warm(
        order,
        client,
        marks,
        congestion_controls(client.worker.pid, address.port, link.near, link.far),
        marks.pids(),
        turn.stage.counters(),
        rested(marks, order.warm_up * order.message_bytes),
    )


def _collected(
    turn: Turn, warm: _Warm, sliced: Sliced | None = None, *, is_offered: bool = False
) -> Exchanged:
    """What both ends tell when the exchange has ended. Raises RunError."""
    order, client = warm.order, warm.client
    report = turn.hear(client, Report)
    replied = order.warm_up + report.counters["messages"]
    used = rested(warm.marks, replied * order.message_bytes)
    kernel = counted_between(warm.kernel, turn.stage.counters())
    client.tell(End())
    turn.hear(client, End)
    found = Found(
        counters=report.counters | since(warm.used, used) | kernel,
        strangers=used.get("strangers"),
        congestion_controls=warm.congestion_controls,
        is_ours=turn.stage.has(SERVER) or is_offered,
        is_offered=is_offered,
        has_private_network=turn.link.counter_fds is not None,
        sliced=sliced,
    )
    return Exchanged(assembled(turn.case, turn.round, order, report, found), report.start_ns)


def _start_ours(turn: Turn) -> Address:
    case, link = turn.case, turn.link
    asked = EchoParameters.of(case)
    server = turn.stage.far(SERVER, f"{PACKAGE}.server", counts_writes=True)
    server.tell(
        ServerOrder(
            runtime=case.runtime,
            implementation=case.implementation,
            server=asked.server_kind,
            strategy=parse_strategy(case.strategy),
            reply=asked.reply,
            message_bytes=case.message_bytes.max,
            buffer_bytes=asked.buffer_bytes or 0,
            fault=asked.fault,
            connections=case.connections,
            congestion_control=asked.congestion_control,
            host=link.far_address,
            client=link.client,
            tls=turn.stage.far_identity() if asked.tls else None,
        )
    )
    return turn.listening(server)


def _start_external(turn: Turn) -> Address:
    """Start the program of `--server-command`, and wait until it listens."""
    case, link = turn.case, turn.link
    asked = EchoParameters.of(case)
    port = Address.parse(asked.server_address or "").port
    if not link.far.is_private and is_listening(os.getpid(), port):
        raise RunError(
            f"port {port} already has a listener, which is not the server that should be "
            "started: end it, or name another port"
        )
    if link.far.is_private:
        # The default for a program that chooses none. Where setting it is refused, the run's
        # warnings name the congestion control of the replies.
        with link.far.entered(), suppress(PermissionError):
            set_congestion_control(asked.congestion_control)
    program = turn.program(
        SERVER,
        shlex.split(asked.server_command or ""),
        # The client notices its end, and reports more.
        is_watched=False,
        environment=os.environ | {FAR_VARIABLE: link.far_address},
    )
    cpu = turn.stage.where.receiver_cpu
    if cpu is not None:
        with suppress(ProcessLookupError):  # Its end is reported below.
            os.sched_setaffinity(program.pid, {cpu})
    wait_listening(program, port, turn.listen_limit_s)
    return Address(link.far_address, port)


def _marks_of(turn: Turn) -> Marks:
    if turn.stage.has(SERVER):
        return OwnMarks(turn, turn.stage.child(SERVER))
    if turn.programs:
        return SessionMarks(turn.programs[0].pid)
    return NoMarks()
