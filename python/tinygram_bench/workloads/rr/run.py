"""One run of `rr`: the orders for a server and processes of callers, and their answers."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tinygram_bench._native import CallContent
from tinygram_bench.host.network import Network
from tinygram_bench.host.probes.kernel import Counted, counted_between
from tinygram_bench.links import parse_link
from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case, Plan
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.processes.children import Child
from tinygram_bench.processes.orders import End, Ready
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.runs.stage import Address, Turn
from tinygram_bench.runs.workload import Exchanged, Rehearsed, TakesTurns, Waiting
from tinygram_bench.workloads.rr.order import (
    CallOrder,
    Pace,
    Report,
    ServerOrder,
    Span,
    Start,
    Warm,
)
from tinygram_bench.workloads.rr.outcome import Found, assembled
from tinygram_bench.workloads.rr.withheld import REQUESTS, check_waits
from tinygram_bench.workloads.turns import arrival_seed

PACKAGE = "tinygram_bench.workloads.rr"
SERVER = "server"
"""The role of the server on its stage."""
_PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_ALL_PORTS = "1024 65535"
_LEAD_NS = 50_000_000
"""The time between telling the callers when they start, and that start: all must be told by
then."""
_DELAYED_ACK_S = 0.05
"""The warm-up's last replies are acknowledged within this: 40 ms, and a tick."""
_OF_CONNECTING = ("kernel_ListenOverflows", "kernel_TCPSynRetrans")
_NO_END_NS = (1 << 63) - 1


class Rr(TakesTurns):
    """A server, and callers that send it requests and wait for its replies.

    `generator`: the number of this host among those of a cluster, which have arrivals of their own.
    """

    def __init__(self, seed: int, generator: int = 0) -> None:
        super().__init__(seed)
        self._generator = generator

    def listen(self, turn: Turn) -> Address:
        """Have our server listen, unless another runs already."""
        running = self.server_address(turn.case)
        if running is not None:
            return running
        if turn.case.case_id in self.offered:
            return self.listen_to_offered(turn)
        turn.stage.once("all ports", lambda: _widen_ports(turn.link.near))
        server = turn.stage.far(SERVER, f"{PACKAGE}.server")
        server.tell(self._server_order(turn))
        return turn.listening(server)

    def exchange(self, turn: Turn, address: Address | None) -> Exchanged:
        """Have all callers call from a common start."""
        assert address is not None, "there is always a server"
        self._warm_up(turn, address)
        self._tell_pace(turn, self.own_ns(turn.case))
        ready = _Ready.now(turn)
        start = Start((_span(turn.case),))
        for process in _callers(turn):
            process.tell(start)
        return _collected(turn, start, ready)

    def own_ns(self, case: Case) -> int:
        return RrParameters.of(case).duration_ns or 0

    def waits_ns(self, case: Case) -> int:
        link = parse_link(case.link)
        return link.rtt_ns + link.jitter_ns + (parse_strategy(case.strategy).duration_ns or 0)

    def rehearsed(self, turn: Turn, address: Address | None) -> Rehearsed:
        """Have all callers connect and warm up."""
        assert address is not None, "there is always a server"
        return Rehearsed(self._warm_up(turn, address), turn.case.producers)

    def warmed_up(self, turn: Turn, _address: Address | None, slices: Slices) -> Waiting:
        """All callers have warmed up already; they wait for their slices."""
        self._tell_pace(turn, slices.own_ns)
        ready = _Ready.now(turn)
        callers = _callers(turn)
        starts: list[Start] = []

        def begin(at_ns: int) -> None:
            starts.append(Start.in_slices(at_ns, slices))
            for process in callers:
                process.tell(starts[0])

        return Waiting(
            tuple(process.worker.pid for process in callers),
            turn.stage.child(SERVER).pids if turn.stage.has(SERVER) else (),
            callers,
            start=begin,
            collect=lambda used: _collected(turn, starts[0], ready, slices, used),
        )

    def _tell_pace(self, turn: Turn, own_ns: int) -> None:
        """At a rate, tell each process when its share of the calls is due, before the start.

        `own_ns`: how long the case's own time is.
        """
        rate_per_s, arrival = turn.case.rate_per_s, str(turn.case.arrival)
        if rate_per_s is None:
            return
        seed = arrival_seed(self.seed, turn.round, self._generator)
        callers = _callers(turn)
        for number, process in enumerate(callers):
            process.tell(Pace(rate_per_s, arrival, own_ns, seed, (number, len(callers))))
        turn.hear_all(callers, Ready)

    def _warm_up(self, turn: Turn, address: Address) -> int:
        """Have all callers connect and warm up; return about how long a call took, in ns."""
        self._check_waits(turn, address)
        _at_first(turn)
        for process in _callers(turn):
            process.tell(self._call_order(turn, address))
        warm = turn.hear_all(_callers(turn), Warm)
        time.sleep(_DELAYED_ACK_S)
        return max(each.call_ns for each in warm)

    def first_call(self, plan: Plan) -> tuple[bytes, int]:
        """A request, and the size of its reply."""
        case = plan.cases[0]
        return self._content(case).request(0), RrParameters.of(case).reply_bytes

    def _content(self, case: Case) -> CallContent:
        return CallContent(case.message_bytes.max, RrParameters.of(case).reply_bytes, self.seed)

    def _check_waits(self, turn: Turn, address: Address) -> None:
        if turn.case.case_id in self.offered:
            return  # One host has asked for all.
        self.check_waits(turn, address)

    def check_waits(self, turn: Turn, address: Address) -> None:
        """Check that the server waits for the end of a request. Raises RunError."""
        try:
            check_waits(
                address,
                self._content(turn.case).request(0),
                RrParameters.of(turn.case).reply_bytes,
                _give_up_ns(turn),
                turn.link,
                is_ours=turn.stage.has(SERVER),
                certificate=_certificate(turn),
            )
        except RunError:
            # If the server has ended, or its host was lost, that error says more.
            turn.check_running()
            raise

    def _server_order(self, turn: Turn) -> ServerOrder:
        case, link = turn.case, turn.link
        asked = RrParameters.of(case)
        return ServerOrder(
            runtime=asked.server_runtime,
            request_bytes=case.message_bytes.max,
            reply_bytes=asked.reply_bytes,
            seed=self.seed,
            backlog=asked.backlog or 0,
            strategy=str(asked.server_strategy),
            has_quickack=asked.quickack,
            congestion_control=asked.congestion_control,
            host=link.far_address,
            client=link.client,
            tls=turn.stage.far_identity() if asked.tls else None,
            uncounted_requests=REQUESTS + case.producers * asked.warm_up_calls,
            connections=case.connections,
        )

    def _call_order(self, turn: Turn, address: Address) -> CallOrder:
        case = turn.case
        asked = RrParameters.of(case)
        return CallOrder(
            host=address.host,
            port=address.port,
            runtime=case.runtime,
            callers=asked.callers_per_process,
            connections=asked.connections,
            depth=asked.depth or 1,
            sends_per_request=asked.sends_per_request,
            strategy=case.strategy,
            request_bytes=case.message_bytes.max,
            reply_bytes=asked.reply_bytes,
            checks_replies=asked.checks_replies,
            seed=self.seed,
            warm_up_calls=asked.warm_up_calls,
            congestion_control=asked.congestion_control,
            give_up_ns=_give_up_ns(turn),
            client=turn.link.client,
            certificate=_certificate(turn),
            implementation=case.implementation,
            is_at_a_rate=case.rate_per_s is not None,
        )


def _certificate(turn: Turn) -> str | None:
    """The certificate that the server must show; None: nothing is encrypted."""
    return turn.stage.certificate() if RrParameters.of(turn.case).tls else None


def _at_first(turn: Turn) -> Counted:
    """The kernel's counters from before the callers connected."""
    return turn.once("at first", turn.stage.counters)


def _callers(turn: Turn) -> list[Child]:
    """The processes of callers."""
    return [
        turn.stage.near(f"callers {number + 1}", f"{PACKAGE}.callers")
        for number in range(RrParameters.of(turn.case).processes)
    ]


class _Ready(Struct, frozen=True):
    """What had been counted when all callers had warmed up."""

    at_first: Counted
    kernel: Counted
    server_cpu_ns: int | None

    @classmethod
    def now(cls, turn: Turn) -> _Ready:
        return cls(_at_first(turn), turn.stage.counters(), _server_cpu_ns(turn))


def _collected(
    turn: Turn,
    start: Start,
    ready: _Ready,
    slices: Slices | None = None,
    used: Used | None = None,
) -> Exchanged:
    """What the callers and the server tell when all calls are over. Raises RunError."""
    reports = turn.hear_all(_callers(turn), Report)
    used_ns = _difference(_server_cpu_ns(turn), ready.server_cpu_ns)
    kernel = _kernel_counters(turn.case, ready.at_first, ready.kernel, turn.stage.counters())
    others = kernel | {"server_cpu_ns": used_ns}
    found = Found(start, reports, _server_counters(turn), others, slices, used)
    has_private_network = turn.link.counter_fds is not None
    run = assembled(turn.case, turn.round, found, has_private_network=has_private_network)
    return Exchanged(run, start.start_ns)


def _give_up_ns(turn: Turn) -> int:
    """The time, CLOCK_MONOTONIC, at which the run has failed."""
    return round(turn.give_up_s * 1e9)


def _server_counters(turn: Turn) -> dict[str, int] | None:
    """End the run of our server, which answers its counters; None where it is not ours."""
    if not turn.stage.has(SERVER):
        return None
    server = turn.stage.child(SERVER)
    server.tell(End())
    return turn.hear(server, dict[str, int])


def _span(case: Case) -> Span:
    """The span of a run, which begins soon; with a number of calls it has no end."""
    start_ns = time.monotonic_ns() + _LEAD_NS
    asked = RrParameters.of(case)
    if asked.duration_ns is not None:
        return Span(start_ns, start_ns + asked.duration_ns)
    return Span(start_ns, _NO_END_NS, asked.calls)


def _kernel_counters(
    case: Case, at_first: Counted, when_ready: Counted, at_last: Counted
) -> dict[str, int | None]:
    """The kernel's counters without the warm-up.

    Connections that stay are made before it, but count in the figures and counters of connecting.
    With these, `kernel_RetransSegs`, all segments sent again, covers only the calls, and may be
    below `kernel_TCPSynRetrans`.
    """
    counters = counted_between(when_ready, at_last)
    if RrParameters.of(case).connections != "per-request":
        since_first = counted_between(at_first, at_last)
        counters |= {name: since_first[name] for name in _OF_CONNECTING}
    return counters


def _widen_ports(network: Network) -> None:
    """Widen the range of local ports: each request may use one, which stays taken for a while."""
    if network.is_private:
        with network.entered(), suppress(OSError):
            _PORT_RANGE.write_text(_ALL_PORTS)


def _server_cpu_ns(turn: Turn) -> int | None:
    """The CPU time of our server's process so far, in ns; None where there is none."""
    return turn.stage.child(SERVER).cpu_ns() if turn.stage.has(SERVER) else None


def _difference(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else after - before
