"""`rr --tls`: every caller that can encrypt, end to end; each record of a request is counted."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Done, run_once

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan
from tinygram_bench.runs.bench import running
from tinygram_bench.runs.stage import Stage
from tinygram_bench.tls.certificates import new_identity
from tinygram_bench.tls.contexts import client_context, server_context
from tinygram_bench.tls.decrypting import Decrypting
from tinygram_bench.tls.records import RECORD_OVERHEAD_BYTES
from tinygram_bench.workloads.rr.calling import RUNTIMES
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr
from tinygram_bench.workloads.rr.run import Rr

REQUEST, SENDS, CALLS, CALLERS = 600, 3, 4, 2
SMALL = ("--rounds", 1, "--pin", "none", "--callers", f"1x{CALLERS}", "--calls", CALLS)
SHAPE = ("--sends-per-request", SENDS, "--request", REQUEST, "--reply", 40_000)
ENCRYPTING = [name for name, known in RUNTIMES.items() if known.has_tls]
TIMEOUT_NS = 60_000_000_000


@pytest.fixture(scope="module")
def over_tls(tmp_path_factory: pytest.TempPathFactory) -> Done:
    runtimes = [word for name in ENCRYPTING for word in ("--runtime", name)]
    strategies = [word for name in ("nodelay", "tick") for word in ("--strategy", name)]
    servers = [word for name in ("asyncio", "uvloop") for word in ("--server-runtime", name)]
    asked = ("--tls", *SMALL, *SHAPE, *runtimes, *strategies, *servers)
    return run_once(tmp_path_factory.mktemp("rr-over-tls"), "rr", *asked)


def test_every_byte_of_every_request_is_in_a_record(over_tls: Done) -> None:
    assert over_tls.code == 0, over_tls.stderr
    cases = {case["case_id"]: case for case in over_tls.result["plan"]["cases"]}
    found = set()
    for index, run in enumerate(over_tls.runs):
        counters, case = over_tls.counters_of(index), cases[run["case_id"]]
        found.add((case["runtime"], case["strategy"], case["parameters"]["connections"]))
        calls, records = CALLERS * CALLS, counters["tls_records"]
        assert counters["calls"] == calls
        assert counters["wire_bytes"] == REQUEST * calls + RECORD_OVERHEAD_BYTES * records
        if case["strategy"] == "nodelay":
            # Neither handshakes nor farewells nor warm-ups are among them.
            assert records == SENDS * calls
        else:
            assert calls <= records <= SENDS * calls
    kinds = ("per-request", "per-caller")
    by_hand = {(runtime, "nodelay", kind) for runtime in ENCRYPTING for kind in kinds}
    library = {(name, "tick", kind) for name in ("asyncio", "uvloop") for kind in kinds}
    assert found == by_hand | library


def test_records_of_a_call_are_figures(over_tls: Done) -> None:
    of_writes = [each for each in over_tls.result["summaries"] if is_of_writes(each)]
    assert of_writes
    for summary in of_writes:
        figures = summary["figures"]
        assert figures["records_per_call"]["median"] == SENDS
        wire_bytes = REQUEST + SENDS * RECORD_OVERHEAD_BYTES
        assert figures["wire_bytes_per_call"]["median"] == wire_bytes
    assert "TLS records of the requests, and what they take on the wire" in over_tls.stdout


def is_of_writes(summary: Any) -> bool:
    return bool(summary["case"]["strategy"] == "nodelay")


def test_with_plain_each_way_is_measured_so_and_so(tmp_path: Path) -> None:
    only = ("--runtime", "asyncio", "--strategy", "nodelay", "--connections", "per-caller")
    done = run_once(tmp_path, "rr", "--tls", "--plain", *SMALL, *SHAPE, *only)
    records = {
        summary["case"]["case_id"].endswith("/tls"): "records_per_call" in summary["figures"]
        for summary in done.result["summaries"]
    }
    assert records == {True: True, False: False}
    of_runs = {run["case_id"].endswith("/tls"): run["counters"] for run in done.runs}
    assert "tls_records" in of_runs[True]
    assert "tls_records" not in of_runs[False]


def test_a_connection_that_tasks_share_is_encrypted_in_slices(tmp_path: Path) -> None:
    done = run_once(
        *(tmp_path, "rr", "--tls", "--rounds", 1, "--callers", "1x4", "--duration", "60ms"),
        *("--connections", "shared", "--runtime", "asyncio", "--sends-per-request", 1),
    )
    assert [run["failure"] for run in done.runs] == [None, None]
    for index in range(2):
        counters = done.counters_of(index)
        assert counters["tls_records"] == counters["calls"]


def case_plan(**options: Any) -> Plan:
    chosen: dict[str, Any] = {
        "servers": ("asyncio",),
        "tls": (True,),
        "callers": 1,
        "processes": 1,
        "calls": 1,
        "timeout_ns": TIMEOUT_NS,
        "placement": "none",
    }
    return plan_rr(RrOptions(**(chosen | options)))


def test_a_server_with_another_certificate_fails_the_run_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What the near end takes for the far one's.
    monkeypatch.setattr(Stage, "certificate", lambda _stage: new_identity().certificate)
    with running(Rr(1)) as bench:
        run = bench.run_case(case_plan().cases[0], 0)
    assert run.failure is not None
    assert "certificate verify failed" in run.failure


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"runtimes": ("native",)}, "--runtime native does not encrypt.*threads, asyncio, uvloop"),
        ({"servers": ("native",)}, "--server-runtime native does not encrypt.*asyncio and uvloop"),
        ({"connections": ("shared",)}, "one thread at a time; name --runtime asyncio"),
    ],
)
def test_what_cannot_encrypt_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        case_plan(**options)


def test_what_a_handshake_leaves_in_its_last_bytes_is_counted() -> None:
    """A client may send its first record in the write that ends the handshake."""
    identity = new_identity()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = client_context(identity.certificate)
    client = context.wrap_bio(incoming, outgoing, server_hostname="tinygram")
    server = Decrypting(server_context(identity))
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    assert server.push(outgoing.read()).record_count == 0
    incoming.write(server.answer())
    client.do_handshake()
    client.write(b"first")
    last = outgoing.read()
    found = [server.push(last[:-1]), server.push(last[-1:])]
    assert [each.records for each in found] == [[], [b"first"]]
    assert sum(each.record_count for each in found) == 1
    assert sum(each.wire_bytes for each in found) == 5 + RECORD_OVERHEAD_BYTES
    client.write(b"second")
    with pytest.raises(ssl.SSLWantReadError):
        client.unwrap()
    ended = server.push(outgoing.read())
    assert ended.is_closed
    assert (ended.records, ended.record_count) == ([b"second"], 1)
    assert ended.wire_bytes == 6 + RECORD_OVERHEAD_BYTES
