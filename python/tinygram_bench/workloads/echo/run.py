"""One run of `echo`: a server under test and a client, what they are told, and how they end."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import msgspec

from tinygram_bench.host.network import set_congestion_control
from tinygram_bench.host.placement import placement
from tinygram_bench.host.probes.far_ends import open_diag
from tinygram_bench.host.probes.listening import is_listening, wait_listening
from tinygram_bench.host.probes.sampling import probing
from tinygram_bench.host.write_counter import Counting, counting
from tinygram_bench.links import FAR_VARIABLE, Link, link_up
from tinygram_bench.model.parameters import EchoParameters
from tinygram_bench.model.result import Case, Plan, Run
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.processes.attached import attached
from tinygram_bench.processes.channel import LineWorker, wait_lines
from tinygram_bench.processes.workers import LISTEN_LIMIT_S, RunError, Worker, port_of, wait_all
from tinygram_bench.run.answering import answer_limit_s, call_once, unanswered
from tinygram_bench.run.runs import kept_failure
from tinygram_bench.statistics.loads import EXTERNAL
from tinygram_bench.workloads.echo.order import ClientOrder, Report, ServerOrder
from tinygram_bench.workloads.echo.outcome import assembled

PACKAGE = "tinygram_bench.workloads.echo"
_GRACE_S = 0.5


@dataclass
class Served:
    """A server that listens: `ours`, which tells what it used, `external`, or one that ran already.

    Of the last two nothing is known but what the kernel tells.
    """

    host: str
    port: int
    ours: LineWorker | None = None
    external: Worker | None = None

    @property
    def runs_already(self) -> bool:
        """Then nobody here knows on which core."""
        return self.ours is None and self.external is None


@dataclass(frozen=True)
class EchoBench:
    """Runs cases of `echo`, the writes of our servers counted."""

    seed: int
    counting: Counting

    def run_case(self, case: Case, round: int) -> Run:
        """Run a case once; a failure is in the run, not raised."""
        return kept_failure(case, round, self._measure)

    def _measure(self, case: Case, round: int) -> Run:
        with ExitStack() as stack:
            link, server = self._served(stack, case, round)
            probe_ns = case.parameters.probe_ns
            probe = stack.enter_context(probing(probe_ns, server.port, link.near, link.is_one_host))
            diag = open_diag(link.far)
            if diag is not None:
                stack.enter_context(diag)
            order = self._client_order(case, server, link, None if diag is None else diag.fileno())
            own_fds = [fd for fd in (order.channel_fd, order.diag_fd) if fd is not None]
            with link.near.entered():
                client = stack.enter_context(
                    Worker(
                        "client",
                        [sys.executable, "-m", f"{PACKAGE}.client"],
                        order=msgspec.json.encode(order),
                        pass_fds=[*own_fds, *(link.counter_fds or ())],
                    )
                )
            _wait(client, server, 3 * order.timeout_ns / 1e9 + (order.duration_ns or 0) / 1e9)
            report = msgspec.json.decode(client.output, type=Report)
            run = assembled(case, round, order, report)
            return probe.added_to(link.added_to(run), report.start_ns)

    def check(self, plan: Plan) -> None:
        """Call the server that is not ours once over each link, started as for a run.

        Raises UsageError where it does not answer.
        """
        links = {case.link: case for case in reversed(plan.cases) if case.runtime == EXTERNAL}
        for case in links.values():
            smallest = min(each.message_bytes.max for each in plan.cases)
            try:
                self._call_once(case, bytes(smallest))
            except (OSError, RunError) as failure:
                raise unanswered(_option_of(case), failure) from failure

    def _call_once(self, case: Case, message: bytes) -> None:
        """Raises OSError and RunError."""
        with ExitStack() as stack:
            link, server = self._served(stack, case, 0)
            limit_s = answer_limit_s(case.parameters.timeout_ns)
            try:
                call_once((server.host, server.port), message, len(message), limit_s, link.near)
            except RunError as failure:
                raise _with_end(failure, server) from failure

    def _served(self, stack: ExitStack, case: Case, round: int) -> tuple[Link, Served]:
        """The case's link and its server, which listens. Raises OSError and RunError."""
        asked = EchoParameters.of(case)
        if case.runtime == EXTERNAL and asked.server_command is None:
            return Link(), Served(*_address(case))
        link = stack.enter_context(link_up(case, self.seed + round))
        limit_s = min(LISTEN_LIMIT_S, asked.timeout_ns / 1e9)
        start = self._start_external if case.runtime == EXTERNAL else self._start_ours
        return link, start(stack, case, link, limit_s)

    def _start_ours(self, stack: ExitStack, case: Case, link: Link, limit_s: float) -> Served:
        with link.far.entered():
            server = LineWorker(
                *(stack, "server", [sys.executable, "-m", f"{PACKAGE}.server"]),
                *(self.counting.environment(), [self.counting.fd]),
            )
        server.tell(msgspec.json.encode(_server_order(case, link)))
        late = f"did not listen within {limit_s:g} s"
        (line,) = wait_lines([server], time.monotonic() + limit_s, late)
        return Served(link.far_address, port_of("server", line), ours=server)

    def _start_external(self, stack: ExitStack, case: Case, link: Link, limit_s: float) -> Served:
        asked = EchoParameters.of(case)
        _, port = _address(case)
        if not link.far.is_private and is_listening(os.getpid(), port):
            raise RunError(
                f"port {port} already has a listener, which is not the server that should be "
                "started: end it, or name another port"
            )
        with link.far.entered():
            if link.far.is_private:
                # Of a program that picks none. Where it is refused, the run's warnings tell what
                # its replies went under.
                with suppress(PermissionError):
                    set_congestion_control(asked.congestion_control)
            program = shlex.split(asked.server_command or "")
            worker = stack.enter_context(
                Worker(
                    "server",
                    attached(program),
                    environment=os.environ | {FAR_VARIABLE: link.far_address},
                )
            )
        cpu = placement(case.placement).receiver_cpu
        if cpu is not None:
            with suppress(ProcessLookupError):  # What has ended is told below.
                os.sched_setaffinity(worker.pid, {cpu})
        wait_listening(worker, port, limit_s)
        return Served(link.far_address, port, external=worker)

    def _client_order(
        self, case: Case, server: Served, link: Link, diag_fd: int | None
    ) -> ClientOrder:
        asked = EchoParameters.of(case)
        return ClientOrder(
            host=server.host,
            port=server.port,
            seed=self.seed,
            message_bytes=case.message_bytes.max,
            workers=case.connections,
            depth=asked.depth,
            warm_up=asked.warm_up_messages,
            messages=asked.messages,
            duration_ns=asked.duration_ns,
            timeout_ns=asked.timeout_ns,
            trusts=asked.fault is not None,
            polls=case.placement == "apart" and not server.runs_already,
            congestion_control=asked.congestion_control,
            counter_fds=link.counter_fds,
            parent_pid=os.getpid(),
            cpu=placement(case.placement).sender_cpu,
            channel_fd=None if server.ours is None else server.ours.fileno(),
            session_pid=None if server.external is None else server.external.pid,
            diag_fd=diag_fd,
            own_host=None if server.ours is None else link.client_host,
        )


def _server_order(case: Case, link: Link) -> ServerOrder:
    asked = EchoParameters.of(case)
    buffer_bytes = asked.buffer_bytes
    fault = asked.fault
    return ServerOrder(
        runtime=case.runtime,
        implementation=case.implementation,
        server=asked.server_kind,
        strategy=parse_strategy(case.strategy),
        reply=asked.reply,
        message_bytes=case.message_bytes.max,
        buffer_bytes=buffer_bytes or 0,
        fault=None if fault is None else str(fault),
        connections=case.connections,
        congestion_control=asked.congestion_control,
        parent_pid=os.getpid(),
        cpu=placement(case.placement).receiver_cpu,
        host=link.far_address,
        client_host=link.client_host,
    )


def _wait(client: Worker, server: Served, seconds: float) -> None:
    """Sleep until the client has succeeded. Raises RunError, with the server's reason too.

    A server of ours ends when its channel does, and that is the client's from now on.
    """
    workers = [client]
    if server.ours is not None:
        server.ours.let_go()
        workers.append(server.ours.worker)
    try:
        wait_all(workers, seconds)
    except RunError as failure:
        raise _with_end(failure, server) from failure


def _with_end(failure: RunError, server: Served) -> RunError:
    """The failure, and how the server ended if it did: its connections end a moment before it."""
    if server.external is None or not server.external.wait_ended(_GRACE_S):
        return failure
    return RunError(f"{failure}; {server.external.failure or 'the server has ended'}")


def _option_of(case: Case) -> str:
    """The option that named a server that is not ours, and its value."""
    asked = EchoParameters.of(case)
    if asked.server_command is None:
        return f"--server {asked.server_address}"
    return f"--server-command {asked.server_command!r}"


def _address(case: Case) -> tuple[str, int]:
    host, _, port = (EchoParameters.of(case).server_address or "").rpartition(":")
    return host, int(port)


@contextmanager
def echo_bench(seed: int) -> Iterator[EchoBench]:
    """A bench, until the block's end."""
    with counting() as library:
        yield EchoBench(seed, library)
