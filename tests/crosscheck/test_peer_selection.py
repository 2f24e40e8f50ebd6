"""Which programs run beside a plan, and what is said of those that do not."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.crosscheck.fakes import prints, write_sockperf
from tests.support.plans.stream import planned

from tinygram_bench.crosscheck import selection
from tinygram_bench.crosscheck.selection import PROGRAMS, choose
from tinygram_bench.host.network import Network
from tinygram_bench.model.result import MessageBytes, Plan
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr

LIMITS = ("runtime=native,strategy=nagle,strategy=nodelay,strategy=tick",)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in PATH, and nothing in it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def limits(size: int = 100) -> Plan:
    return planned(*LIMITS, message_bytes=MessageBytes(size, size))


def one_caller() -> Plan:
    options = RrOptions(
        runtimes=("native",),
        strategies=("nodelay",),
        connections=("per-caller",),
        sends_per_request=(1,),
        request_bytes=100,
        reply_bytes=100,
        processes=1,
        callers=1,
        placement="none",
    )
    return plan_rr(options)


def test_what_is_not_installed_is_named_with_the_remedy() -> None:
    chosen, absent = choose(limits())
    assert chosen == ()
    assert [each.program for each in absent] == [program.name for program in PROGRAMS]
    assert absent[0].reason == "is not installed: apt-get install sockperf"


def test_each_setting_is_beside_the_case_with_the_same_writes(folder: Path) -> None:
    write_sockperf(folder, client=prints(""))
    chosen, absent = choose(limits())
    assert [(each.peer.peer_id, each.case.strategy) for each in chosen] == [
        ("sockperf/nagle", "nagle"),
        ("sockperf/nodelay", "nodelay"),
    ]
    assert {each.peer.version for each in chosen} == {"sockperf, version 3.7-test"}
    assert {each.case.runtime for each in chosen} == {"native"}
    assert "sockperf" not in [each.program for each in absent]


def test_who_cannot_do_the_work_says_so(folder: Path) -> None:
    write_sockperf(folder, client=prints(""))
    chosen, absent = choose(one_caller())
    assert [(each.peer.peer_id, each.peer.figure) for each in chosen] == [
        ("sockperf/nodelay", "call_p50_us")
    ]
    reasons = {each.program: each.reason for each in absent}
    assert reasons["iperf3"] == reasons["nuttcp"] == "does not call and wait for a reply"


def test_a_size_that_a_program_does_not_take_is_no_run_of_it(folder: Path) -> None:
    write_sockperf(folder, client=prints(""))
    chosen, absent = choose(limits(size=13))
    assert chosen == ()
    assert absent[0].reason == "takes messages of 14 to 65,507 bytes, and these have 13"


@pytest.mark.parametrize("program", ["nuttcp", "qperf"])
def test_who_listens_on_all_addresses_does_so_in_a_private_network_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    (folder / program).write_text("#!/bin/sh\n")
    (folder / program).chmod(0o755)
    monkeypatch.setattr(selection, "private_network", lambda: nullcontext(Network()))
    _, absent = choose(limits())
    reasons = {each.program: each.reason for each in absent}
    assert reasons[program].startswith("listens on all addresses, and no private network")
