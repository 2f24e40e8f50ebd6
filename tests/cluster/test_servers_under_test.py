"""Servers under test: each is one process on its host, which all generators load together."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.cluster.in_process import CLIENTS, conducted, echo_plan, runs_of
from tests.cluster.test_conductor import OneServer, Scripted
from tests.hosts.far_server import far_server
from tests.support.measured.echo import run_of

from tinygram_bench.cluster import server
from tinygram_bench.cluster.conductor import Conductor, Lost
from tinygram_bench.cluster.merging import Part, merged
from tinygram_bench.cluster.order import BeginOrder, Offered
from tinygram_bench.cluster.server import OfferedServers
from tinygram_bench.cluster.shares import shared_out
from tinygram_bench.host import descriptors
from tinygram_bench.hosts.address import FarAddress
from tinygram_bench.hosts.far_host import FarHost
from tinygram_bench.model.parameters import EchoParameters, RrParameters
from tinygram_bench.model.result import Case, Plan, Run
from tinygram_bench.processes.orders import Listening
from tinygram_bench.processes.workers import RunError
from tinygram_bench.tls.records import FAREWELL_BYTES, RECORD_OVERHEAD_BYTES
from tinygram_bench.workloads.echo.marks import USED, Mark, OwnMarks, ServerUsed, rested
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr
from tinygram_bench.workloads.rr.withheld import REQUESTS

CALLERS = 7


def rr_plan(**changes: Any) -> Plan:
    options: dict[str, Any] = {
        "strategies": ("nodelay",),
        "connections": ("per-caller",),
        "runtimes": ("native",),
        "sends_per_request": (1,),
        "callers": CALLERS,
        "duration_ns": 200_000_000,
        "request_bytes": 100,
        "processes": 1,
        "placement": "none",
        "takes_turns": True,
        "clients": CLIENTS,
        "link": "remote",
    }
    return plan_rr(RrOptions(**(options | changes)))


@pytest.mark.parametrize("runtime", ["native", "asyncio"])
def test_one_server_has_the_calls_and_connections_of_all_hosts(runtime: str) -> None:
    (run,) = runs_of(rr_plan(servers=(runtime,)), CLIENTS)
    assert run.failure is None
    assert [host.connections for host in run.hosts] == [3, 2, 2]
    counters = run.counters
    assert counters["calls"] == sum(host.calls or 0 for host in run.hosts)
    warm_up = CALLERS * RrParameters.of(rr_plan().cases[0]).warm_up_calls
    # These are counters of a single process, and one connection is that of the first request.
    assert counters["server_requests"] == (counters["calls"] or 0) + warm_up + REQUESTS
    assert counters["server_connections"] == CALLERS + 1
    assert (counters["server_cpu_ns"] or 0) > 0
    assert counters["strangers"] == 0


def test_records_of_the_calls_of_all_hosts_are_counted_by_their_one_server() -> None:
    plan = rr_plan(servers=("asyncio",), runtimes=("threads",), tls=(True,))
    (run,) = runs_of(plan, CLIENTS)
    assert run.failure is None
    counters = run.counters
    assert counters["tls_records"] == counters["calls"]
    assert counters["wire_bytes"] == (counters["calls"] or 0) * (100 + RECORD_OVERHEAD_BYTES)


def test_each_case_has_a_server_of_its_own_and_all_end_with_the_round() -> None:
    plan = echo_plan("threads/recv", "native/epoll", workers=6)
    pids: list[set[int]] = []
    with conducted(plan, CLIENTS) as conductor:
        of_rounds = pids_of_servers(conductor)
        for round in range(2):
            runs = conductor.run_cases(plan.cases, round)
            assert [run.failure for run in runs] == [None, None]
            pids.append(next(of_rounds))
            for run in runs:
                assert run.counters["written_bytes"] == run.counters["bytes"]
                assert (run.counters["cpu_ns"] or 0) > 0
                assert "writes_not_counted" not in {each.code for each in run.warnings}
    first, second = pids
    assert len(first) == len(second) == 2
    assert not first & second


def pids_of_servers(conductor: Conductor) -> Iterator[set[int]]:
    """After each round, the processes of its servers."""
    (local,) = conductor.under_test.refs  # type: ignore[union-attr]
    offered: OfferedServers = local.offered
    while True:
        yield {pid for each in offered._served if each is not None for pid in each.server.pids}


@pytest.mark.parametrize("step", ["begin", "warm", "measure"])
@pytest.mark.parametrize("workload", ["echo", "rr"])
def test_what_a_server_used_for_a_host_that_was_lost_is_in_no_figure(
    workload: str, step: str
) -> None:
    """Whoever is lost has connected before, and of `rr` warmed up: both is within `begin`."""
    plan = rr_plan() if workload == "rr" else echo_plan("threads/recv", workers=6)
    (run,) = runs_of(plan, CLIENTS, loses={1: step})
    assert run.failure is None
    assert run.counters["generators"] == 2
    assert run.counters["server_cpu_ns" if workload == "rr" else "cpu_ns"] is None
    assert "server_requests" not in run.counters


def test_a_host_that_was_lost_in_an_earlier_round_does_not_matter_to_the_server() -> None:
    plan = rr_plan()
    with conducted(plan, CLIENTS, loses={1: "begin"}) as conductor:
        for round in range(2):
            (run,) = conductor.run_cases(plan.cases, round)
    assert run.failure is None
    assert run.counters["generators"] == 2
    assert run.counters["server_connections"] == 3 + 2 + 1


def test_a_server_that_does_not_answer_is_asked_no_more_and_its_host_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is the first one, and has been told to say what it has used by the end of the warm-up."""
    asked: list[OwnMarks] = []

    def told_at_once(marks: OwnMarks, replied_bytes: int) -> ServerUsed:
        asked.append(marks)
        if len(asked) == 1:
            marks._server.tell(Mark())
            raise RunError("the server did not answer in time")
        return rested(marks, replied_bytes)

    monkeypatch.setattr(server, "rested", told_at_once)
    plan = echo_plan("threads/recv", "native/epoll", workers=6)
    with conducted(plan, CLIENTS) as conductor:
        for round in range(2):
            first, second = conductor.run_cases(plan.cases, round)
            assert [first.failure, second.failure] == [None, None]
            assert (first.counters["cpu_ns"] is None) == (round == 0)
            assert (second.counters["cpu_ns"] or 0) > 0
        assert conductor.lost == {}


def test_a_server_that_cannot_be_started_fails_its_case_on_all_hosts() -> None:
    (run,) = runs_of(rr_plan(congestion_control="nonesuch"), CLIENTS)
    failures = {host.failure for host in run.hosts}
    assert len(failures) == 1
    (why,) = failures
    assert why is not None
    assert why.startswith("on the server's host, the server failed with status 1")


def test_a_server_that_may_not_have_all_connections_fails_its_case_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(descriptors, "_SPARE", 1 << 40)
    (run,) = runs_of(rr_plan(), CLIENTS)
    assert run.failure is not None
    assert "on the server's host, --connections of all clients of a server 7 needs" in run.failure
    assert "ulimit -Hn" in run.failure


def test_a_server_of_echo_has_as_many_descriptors_as_it_may_have() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, before[1]))
    try:
        (run,) = runs_of(echo_plan("native/epoll", workers=200), CLIENTS)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert [host.failure for host in run.hosts] == [None] * CLIENTS


def echo_parts(rates_per_s: Sequence[float], *, tls: bool = False) -> tuple[Case, list[Part]]:
    """The parts of hosts that know nothing of their server."""
    (case,) = echo_plan("asyncio/protocol", workers=15, tls=[tls]).cases
    shares = shared_out(case, len(rates_per_s), 1)
    parts = []
    for number, (share, rate) in enumerate(zip(shares, rates_per_s, strict=True)):
        run = run_of(share, 0, rate)
        run = replace(run, counters=run.counters | dict.fromkeys(USED))
        parts.append(Part(f"host {number}", "server", share, run, 5, 0))
    return case, parts


def used(**changes: int | None) -> ServerUsed:
    return dict.fromkeys(USED, 7) | {"strangers": 0} | changes


def test_what_the_servers_have_used_is_added_up_and_checked_against_all_hosts() -> None:
    case, parts = echo_parts([1_000, 2_000, 3_000])
    replied = sum((part.run.counters["bytes"] or 0) for part in parts if part.run)
    run = merged(case, 0, parts, [used(written_bytes=1_000), used(written_bytes=replied - 1_000)])
    assert run.failure is None
    assert (run.counters["cpu_ns"], run.counters["writes"]) == (14, 14)
    wrong = merged(case, 0, parts, [used(written_bytes=replied + 1)])
    assert wrong.failure == (
        f"the servers' counted writes hold {replied + 1} bytes, and the replies to all hosts "
        f"{replied}"
    )
    assert wrong.counters == {}
    assert len(wrong.hosts) == 3


@pytest.mark.parametrize(("farewells", "is_right"), [(0, True), (15, True), (16, False)])
def test_that_servers_took_leave_over_tls_is_in_no_figure(farewells: int, is_right: bool) -> None:
    case, parts = echo_parts([1_000, 2_000], tls=True)
    replied = sum((part.run.counters["bytes"] or 0) for part in parts if part.run)
    written = replied + farewells * FAREWELL_BYTES
    run = merged(case, 0, parts, [used(written_bytes=written, writes=3_000 + farewells)])
    assert (run.failure is None) == is_right
    if is_right:
        assert (run.counters["written_bytes"], run.counters["writes"]) == (replied, 3_000)
    uneven = merged(case, 0, parts, [used(written_bytes=written + 1)])
    assert uneven.failure is not None


def test_strangers_and_writes_that_nobody_counted_are_told_of_the_servers() -> None:
    case, parts = echo_parts([1_000, 2_000])
    told = merged(case, 0, parts, [used(writes=None, written_bytes=None, strangers=2)])
    assert {"strangers", "writes_not_counted"} <= {each.code for each in told.warnings}
    untold = merged(case, 0, parts)
    assert "writes_not_counted" not in {each.code for each in untold.warnings}
    assert untold.counters["writes"] is None


@dataclass
class Servers:
    """Servers under test that are asked, and where `lost` is."""

    lost: str = ""
    asked: list[tuple[str, Any]] = field(default_factory=list)

    def offer(
        self, of_hosts: Mapping[str, Sequence[Case]], round: int
    ) -> dict[str, Sequence[Offered] | Lost]:
        self.asked.append(("offer", {host: list(cases) for host, cases in of_hosts.items()}))
        offered = [Offered(Listening(80 + round))]
        return {host: Lost("it burns") if host == self.lost else offered for host in of_hosts}

    def rest(self, replied_bytes: Mapping[str, Sequence[int]]) -> None:
        self.asked.append(("rest", dict(replied_bytes)))

    def counted(
        self, replied_bytes: Mapping[str, Sequence[int]]
    ) -> dict[str, Sequence[ServerUsed | None]]:
        self.asked.append(("count", dict(replied_bytes)))
        return {host: [used(written_bytes=None)] for host in replied_bytes}


def conductor_of(servers: Servers, *generators: Scripted) -> tuple[Plan, Conductor]:
    plan = echo_plan("threads/recv", workers=7, clients=len(generators))
    shares = partial(shared_out, clients=len(generators), seed=1)
    return plan, Conductor(generators, shares, OneServer(), lambda _: None, under_test=servers)


def test_servers_are_asked_before_a_round_when_all_have_warmed_up_and_afterwards() -> None:
    hosts = [Scripted(name, answers=echo_answer) for name in "abc"]
    servers = Servers()
    plan, made = conductor_of(servers, *hosts)
    (run,) = made.run_cases(plan.cases, 4)
    (_, cases), rested, counted = servers.asked
    assert cases["server"][0].connections == 7
    shares = shared_out(plan.cases[0], 3, plan.seed)
    warm_up = sum(EchoParameters.of(share).warm_up_messages for share in shares)
    assert rested == ("rest", {"server": [warm_up * 1_000]})
    # Each host measured 10 messages.
    assert counted == ("count", {"server": [(warm_up + 3 * 10) * 1_000]})
    for host in hosts:
        assert begun_by(host).servers == (Offered(Listening(84)),)
    assert run.counters["cpu_ns"] == 7


def test_generators_whose_server_host_is_lost_are_left_out_before_they_begin() -> None:
    orphan = Scripted("b", server="dead", answers=echo_answer)
    servers = Servers(lost="dead")
    plan, made = conductor_of(servers, Scripted("a", answers=echo_answer), orphan)
    (run,) = made.run_cases(plan.cases, 0)
    assert run.failure is None
    assert [host.failure for host in run.hosts] == [None, "its server dead is lost: it burns"]
    assert orphan.asked == []
    assert orphan.has_ended


def echo_answer(case: Case) -> Run:
    counters: dict[str, int | None] = {"messages": 10, "bytes": 10_000}
    return Run(case.case_id, 0, counters | dict.fromkeys(USED), {})


def begun_by(host: Scripted) -> BeginOrder:
    (order,) = [order for step, order in host.asked if step == "begin"]
    return msgspec.json.decode(order, type=BeginOrder)


def test_a_lost_host_ends_what_stands_for_it_on_stages_with_no_process_there() -> None:
    with ExitStack() as stack:
        serving = ExitStack()
        port = serving.enter_context(far_server())
        address = FarAddress("127.0.0.1", "127.0.0.1", port)
        host = stack.enter_context(closing(FarHost(address)))
        first, second = (host.standing(stack, "server of all hosts") for _ in range(2))
        # One that is not told any more has ended, and the other one has not.
        first.dismiss()
        assert first.process.wait_ended(10)
        assert (first.process.failure, first.process.is_cut_off) == (None, False)
        assert not second.process.wait_ended(0)
        serving.close()
        assert second.process.wait_ended(10)
        assert second.process.is_cut_off
        assert "was lost" in (second.process.failure or "")
        assert not second.read()
