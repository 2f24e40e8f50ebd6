"""Every echo server that can encrypt, end to end: bytes compared, records of replies counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Done, run_once
from tests.support.plans.echo import planned

from tinygram_bench.runs.bench import running
from tinygram_bench.runs.stage import Stage
from tinygram_bench.tls.certificates import new_identity
from tinygram_bench.tls.records import RECORD_OVERHEAD_BYTES
from tinygram_bench.workloads.echo.run import Echo
from tinygram_bench.workloads.echo.servers import SERVERS

SIZE, DEPTH, MESSAGES = 100, 8, 2_000
PER_MESSAGE = ("--size", SIZE, "--depth", DEPTH, "--reply", "per-message", "--workers", 2)
OF_TICKS = {
    (known.runtime, known.implementation, known.name)
    for known in SERVERS
    if known.has_tls and "tick" in known.strategies
}
SERVERS_OVER_TLS = {
    (known.runtime, known.implementation, known.name) for known in SERVERS if known.has_tls
}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return measured(tmp_path_factory, "--messages", MESSAGES, "--strategy", "tick")


@pytest.fixture(scope="module")
def in_slices(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Every server, with a strategy that joins no messages and with one that may."""
    return measured(
        tmp_path_factory, "--duration", "60ms", "--strategy", "nodelay", "--strategy", "adaptive"
    )


def measured(tmp_path_factory: pytest.TempPathFactory, *load: object) -> Done:
    asked = ("--tls", "--all", "--buffer", "64KiB", "--rounds", 1, *PER_MESSAGE, *load)
    return run_once(tmp_path_factory.mktemp("echo-over-tls"), "echo", *asked)


@pytest.mark.parametrize("load", ["alone", "in_slices"])
def test_every_server_that_can_encrypt_echoes_every_byte(load: str, request: Any) -> None:
    done: Done = request.getfixturevalue(load)
    assert done.code == 0, done.stderr
    cases = {case["case_id"]: case for case in done.result["plan"]["cases"]}
    found = set()
    for index, run in enumerate(done.runs):
        counters, case = done.counters_of(index), cases[run["case_id"]]
        found.add((case["runtime"], case["implementation"], case["parameters"]["server_kind"]))
        records, messages = counters["tls_records"], counters["messages"]
        # What the server wrote, as a preloaded library counted it, is what the client decrypted.
        assert counters["wire_bytes"] == SIZE * messages + RECORD_OVERHEAD_BYTES * records
        assert counters["written_bytes"] == counters["wire_bytes"]
        if case["strategy"] in ("nodelay", "nagle"):
            assert records == messages
        else:
            assert messages / DEPTH <= records <= messages
    assert found == (SERVERS_OVER_TLS if load == "in_slices" else OF_TICKS)
    assert "over TLS 1.3" in done.stdout


def test_what_a_tick_joins_is_one_record(alone: Done) -> None:
    """With one worker's whole window in a read, the eight replies of it are a record."""
    of_ticks = [
        run["counters"]
        for run in alone.runs
        if run["case_id"].startswith("echo/asyncio/tinygram/protocol/tick/")
    ]
    (counters,) = of_ticks
    assert counters["tls_records"] == counters["writes"] < counters["messages"] / 2


def test_a_message_that_comes_back_while_its_rest_is_sent_is_not_too_much(
    tmp_path: Path,
) -> None:
    done = run_once(
        tmp_path,
        "echo",
        *("--tls", "--rounds", 1, "--size", "4MiB", "--messages", 8, "--workers", 1),
        *("--only", "runtime=threads,server=recv", "--strategy", "nodelay"),
    )
    assert [run["failure"] for run in done.runs] == [None]
    assert done.counters_of(0)["messages"] == 8


def test_a_server_with_another_certificate_fails_the_run_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What the near end takes for the far one's.
    monkeypatch.setattr(Stage, "certificate", lambda _stage: new_identity().certificate)
    only, timeout_ns = "runtime=asyncio,implementation=stdlib,server=protocol", 60_000_000_000
    (case,) = planned(only, tls=(True,), messages=100, timeout_ns=timeout_ns).cases
    with running(Echo(1)) as bench:
        run = bench.run_case(case, 0)
    assert run.failure is not None
    assert "certificate" in run.failure or "unknown ca" in run.failure


def test_with_plain_each_server_is_measured_so_and_so(tmp_path: Any) -> None:
    done = run_once(
        *(tmp_path, "echo"),
        *("--tls", "--plain", "--rounds", 1, "--size", 10, "--messages", 100),
        *("--only", "asyncio/protocol"),
    )
    records = {run["case_id"].endswith("/tls"): run["counters"] for run in done.runs}
    assert records[True]["tls_records"] == 100
    assert "tls_records" not in records[False]


def test_in_slices_more_than_the_kernel_takes_may_be_in_flight(tmp_path: Any) -> None:
    done = run_once(
        *(tmp_path, "echo", "--tls", "--rounds", 1, "--size", 3_000, "--depth", 1_000),
        *("--workers", 2, "--duration", "200ms", "--buffer", "64KiB"),
        *("--only", "asyncio/protocol", "--only", "threads/recv"),
    )
    assert [run["failure"] for run in done.runs] == [None, None]
    assert all(done.counters_of(index)["messages"] > 0 for index in range(2))
