"""One run of `rr`: a server, callers in their processes, a common start, and what came of it."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tinygram_bench._native import CallContent
from tinygram_bench.host.network import Network
from tinygram_bench.host.placement import placement
from tinygram_bench.host.probes.kernel import Counted, counted_between, counters_in
from tinygram_bench.host.probes.sampling import probing
from tinygram_bench.links import Link, link_up
from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case, Run
from tinygram_bench.processes.channel import LineWorker
from tinygram_bench.processes.workers import RunError, port_of
from tinygram_bench.run.runs import kept_failure
from tinygram_bench.workloads.rr.callers import READY
from tinygram_bench.workloads.rr.order import CallOrder, Report, ServerOrder, Start
from tinygram_bench.workloads.rr.outcome import Found, assembled
from tinygram_bench.workloads.rr.parties import Parties
from tinygram_bench.workloads.rr.withheld import check_waits

_PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_ALL_PORTS = "1024 65535"
_LEAD_NS = 50_000_000
"""From telling the callers their start to the start: each must have been told."""
_DELAYED_ACK_S = 0.05
"""So late the warm-up's last replies are acknowledged at most: 40 ms, and a tick."""
_OF_CONNECTING = ("kernel_ListenOverflows", "kernel_TCPSynRetrans")
_NO_END_NS = (1 << 63) - 1
_END = b"end"


@dataclass(frozen=True)
class RrBench:
    """Runs cases of `rr`."""

    seed: int

    def run_case(self, case: Case, round: int) -> Run:
        """Run a case once; a failure is in the run, not raised."""
        return kept_failure(case, round, self._measure)

    def _measure(self, case: Case, round: int) -> Run:
        asked = RrParameters.of(case)
        with ExitStack() as stack:
            link = Link()
            if asked.server_address is None:
                link = stack.enter_context(link_up(case, self.seed + round))
                _widen_ports(link.near)
            parties = Parties(stack, asked.timeout_ns / 1e9)
            server, host, port = self._server(case, parties, link)
            servers = [] if server is None else [server]
            self._check_waits(case, parties, link, (host, port), is_ours=server is not None)
            probe = stack.enter_context(probing(asked.probe_ns, port, link.near, link.is_one_host))
            at_first = counters_in(link.near, link.counter_fds)
            callers = [
                parties.start(
                    link.near,
                    f"callers {number + 1}",
                    "callers",
                    self._call_order(case, parties, link, (host, port)),
                )
                for number in range(asked.processes)
            ]
            if set(parties.lines(callers, servers)) != {READY}:
                raise RunError("a process of callers did not say that it is ready")
            time.sleep(_DELAYED_ACK_S)
            server_cpu_ns = _cpu_ns(server)
            when_ready = counters_in(link.near, link.counter_fds)
            start = _start(case)
            for party in callers:
                party.tell(msgspec.json.encode(start))
            reports = [
                msgspec.json.decode(line, type=Report) for line in parties.lines(callers, servers)
            ]
            used_ns = _difference(_cpu_ns(server), server_cpu_ns)
            at_last = counters_in(link.near, link.counter_fds)
            kernel = _kernel_counters(case, at_first, when_ready, at_last)
            counted = _ended(parties, server)
            found = Found(start, reports, counted, kernel | {"server_cpu_ns": used_ns})
            run = assembled(case, round, found, has_private_network=link.counter_fds is not None)
            return probe.added_to(link.added_to(run), start.start_ns)

    def _check_waits(
        self, case: Case, parties: Parties, link: Link, address: tuple[str, int], *, is_ours: bool
    ) -> None:
        reply_bytes = RrParameters.of(case).reply_bytes
        request = CallContent(case.message_bytes.max, reply_bytes, self.seed).request(0)
        give_up_ns = parties.give_up_ns
        check_waits(address, request, reply_bytes, give_up_ns, link, is_ours=is_ours)

    def _server(
        self, case: Case, parties: Parties, link: Link
    ) -> tuple[LineWorker | None, str, int]:
        """Our own, and where it listens; or None, and where another does."""
        asked = RrParameters.of(case)
        address = asked.server_address
        if address is not None:
            host, _, port = address.rpartition(":")
            return None, host, int(port)
        order = ServerOrder(
            runtime=asked.server_runtime,
            port=0,
            request_bytes=case.message_bytes.max,
            reply_bytes=asked.reply_bytes,
            seed=self.seed,
            backlog=asked.backlog or 0,
            strategy=str(asked.server_strategy),
            has_quickack=asked.quickack,
            congestion_control=asked.congestion_control,
            parent_pid=os.getpid(),
            cpu=placement(case.placement).receiver_cpu,
            host=link.far_address,
            client_host=link.client_host,
        )
        server = parties.start(link.far, "server", "server", order)
        (line,) = parties.lines([server])
        return server, link.far_address, port_of("server", line)

    def _call_order(
        self, case: Case, parties: Parties, link: Link, address: tuple[str, int]
    ) -> CallOrder:
        asked = RrParameters.of(case)
        host, port = address
        return CallOrder(
            host=host,
            port=port,
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
            give_up_ns=parties.give_up_ns,
            parent_pid=os.getpid(),
            cpu=placement(case.placement).sender_cpu,
            own_host=link.client_host,
        )


def _start(case: Case) -> Start:
    """Soon, and for how long: a number of calls has all the time that the run has."""
    start_ns = time.monotonic_ns() + _LEAD_NS
    asked = RrParameters.of(case)
    if asked.duration_ns is not None:
        return Start(start_ns, start_ns + asked.duration_ns, None)
    return Start(start_ns, _NO_END_NS, asked.calls)


def _kernel_counters(
    case: Case, at_first: Counted, when_ready: Counted, at_last: Counted
) -> dict[str, int | None]:
    """What was counted without the warm-up.

    Connections that stay are made before it, and the figures of connecting have them: so do the
    counts that are of connecting. `kernel_RetransSegs`, all segments sent again, is of the calls
    alone there, and may be below `kernel_TCPSynRetrans`.
    """
    counters = counted_between(when_ready, at_last)
    if RrParameters.of(case).connections != "per-request":
        since_first = counted_between(at_first, at_last)
        counters |= {name: since_first[name] for name in _OF_CONNECTING}
    return counters


def _ended(parties: Parties, server: LineWorker | None) -> dict[str, int] | None:
    """What the server counted, its process being told to end; None where it is not ours."""
    if server is None:
        return None
    server.tell(_END)
    (line,) = parties.lines([server])
    return msgspec.json.decode(line, type=dict[str, int])


def _widen_ports(network: Network) -> None:
    """A connection per request takes a local port each, which stays taken for a while."""
    if network.is_private:
        with network.entered(), suppress(OSError):
            _PORT_RANGE.write_text(_ALL_PORTS)


def _cpu_ns(server: LineWorker | None) -> int | None:
    """CPU time of the server's process so far, by its pid (clock_getcpuclockid(3))."""
    if server is None:
        return None
    return time.clock_gettime_ns((~server.worker.pid << 3) | 2)


def _difference(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else after - before
