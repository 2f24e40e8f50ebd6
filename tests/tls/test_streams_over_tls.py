"""Every way that can encrypt, end to end: each byte accounted for, each record counted."""

from __future__ import annotations

import errno
from typing import Any, Self

import jsonschema
import pytest
from tests.support.command import Done, run_once
from tests.support.plans.stream import planned

from tinygram_bench.runs import stage
from tinygram_bench.runs.bench import running
from tinygram_bench.runs.stage import Stage
from tinygram_bench.schema import json_schema
from tinygram_bench.tls import kernel
from tinygram_bench.tls.certificates import new_identity
from tinygram_bench.tls.contexts import MOST_RECORD_BYTES
from tinygram_bench.tls.records import RECORD_OVERHEAD_BYTES
from tinygram_bench.ways import runtimes
from tinygram_bench.workloads.stream.run import Stream

MESSAGES = 3_000
FLAT_OUT = ("--messages", MESSAGES)
IN_SLICES = ("--rate", 1_000, "--duration", "200ms", "--strategy", "nodelay", "--strategy", "tick")
WAYS = [
    f"{known.name}/{known.implementation}/{text}"
    for known in runtimes.runtimes_with(True)
    if known.missing() is None
    for text in known.strategies
]
IN_SLICES_WAYS = [way for way in WAYS if way.split("/")[2] in IN_SLICES]
"""Each runtime, in both of its manners: what takes turns is the runtime, and not the strategy."""
STRATEGIES = dict.fromkeys(way.split("/")[2] for way in WAYS)
EACH = {"flat_out": WAYS, "in_slices": IN_SLICES_WAYS}
IN_KERNEL = ("nodelay", "nagle", "cork", "more")
A_RECORD_A_MESSAGE = ("nodelay", "nagle", "cork")


@pytest.fixture(scope="module")
def flat_out(tmp_path_factory: pytest.TempPathFactory) -> Done:
    strategies = [word for name in STRATEGIES for word in ("--strategy", name)]
    return measured(tmp_path_factory, *FLAT_OUT, *strategies)


@pytest.fixture(scope="module")
def in_slices(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return measured(tmp_path_factory, *IN_SLICES)


def measured(tmp_path_factory: pytest.TempPathFactory, *load: object) -> Done:
    folder = tmp_path_factory.mktemp("over-tls")
    return run_once(folder, "stream", "--tls", "--all", "--rounds", 1, *load)


def run_of(done: Done, way: str) -> Any:
    return done.run_of(f"stream/{way}/")


@pytest.mark.parametrize("load", EACH)
def test_every_way_that_can_encrypt_is_measured(load: str, request: Any) -> None:
    done: Done = request.getfixturevalue(load)
    assert done.code == 0, done.stderr
    assert len(done.runs) == len(EACH[load])
    assert {case["parameters"]["tls"] for case in done.result["plan"]["cases"]} == {True}
    assert all(case["case_id"].endswith("/tls") for case in done.result["plan"]["cases"])
    assert "over TLS 1.3" in done.stdout


@pytest.mark.parametrize("load", EACH)
def test_the_result_is_what_the_schema_says(load: str, request: Any) -> None:
    done: Done = request.getfixturevalue(load)
    validator = jsonschema.Draft202012Validator(json_schema())
    assert [error.message for error in validator.iter_errors(done.result)] == []


@pytest.mark.parametrize(("load", "way"), [(load, way) for load in EACH for way in EACH[load]])
def test_every_byte_and_every_record_is_accounted_for(load: str, way: str, request: Any) -> None:
    run = run_of(request.getfixturevalue(load), way)
    messages = MESSAGES if load == "flat_out" else 200
    if "/kernel-tls/" in way:
        check_of_kernel(run, way.split("/")[2], messages)
        return
    assert run["failure"] is None
    counters = run["counters"]
    assert counters["messages"] == messages
    records = counters["tls_records"]
    assert counters["wire_bytes"] == counters["bytes"] + RECORD_OVERHEAD_BYTES * records
    # Event loops say that they close, in a record of two bytes.
    closing = 0 if way.split("/")[0] in ("loop", "threads", "processes") else 24
    assert counters["closing_wire_bytes"] == closing
    assert counters["written_bytes"] == counters["wire_bytes"] + closing
    if way.split("/")[2] in A_RECORD_A_MESSAGE:
        assert records == counters["messages"]
    else:
        assert counters["bytes"] / MOST_RECORD_BYTES <= records <= counters["messages"]


def test_each_figure_of_records_is_in_the_summary(flat_out: Done) -> None:
    summaries = {each["case"]["case_id"]: each["figures"] for each in flat_out.result["summaries"]}
    for run in flat_out.runs:
        counters, figures = run["counters"], summaries[run["case_id"]]
        for name, counter in (
            ("records_per_message", "tls_records"),
            ("wire_bytes_per_message", "wire_bytes"),
        ):
            assert figures[name]["median"] == pytest.approx(counters[counter] / MESSAGES)
        assert 0 < figures["receiver_cpu_share"]["median"] < 1.5


@pytest.mark.parametrize(("size", "records"), [(100, 1), (256, 1), (257, 2), (1_000, 4)])
def test_a_batch_of_known_size_is_a_known_number_of_records(
    size: int, records: int, tmp_path: Any
) -> None:
    # A burst is 64 messages in an iteration of the loop, which flushes them at its end. Few enough
    # that the kernel takes all: what it did not take would be joined, where the receiver is late.
    bursts = 10
    done = run_once(
        *(tmp_path, "stream"),
        *("--tls", "--lone", "--rounds", 1, "--size", size, "--messages", 64 * bursts),
        *("--runtime", "asyncio", "--strategy", "tick"),
    )
    for way in ("asyncio/stdlib/tick", "asyncio/tinygram/tick"):
        counters = run_of(done, way)["counters"]
        assert counters["tls_records"] == records * bursts
        assert counters["wire_bytes"] == (64 * size + RECORD_OVERHEAD_BYTES * records) * bursts


def test_several_producers_encrypt_on_one_connection(tmp_path: Any) -> None:
    done = run_once(
        tmp_path, "stream", "--tls", "--lone", "--rounds", 1, "--producers", 3, *FLAT_OUT
    )
    ways = {run["case_id"].split("/")[2] for run in done.runs}
    assert ways == {"stdlib", "stdlib-lock"}
    for index in range(len(done.runs)):
        assert done.counters_of(index)["messages"] == MESSAGES


def test_with_plain_each_way_is_measured_so_and_so(tmp_path: Any) -> None:
    only = ("--only", "loop/nodelay")
    asked = ("--tls", "--plain", "--lone", "--rounds", 1, *only, *FLAT_OUT)
    done = run_once(tmp_path, "stream", *asked)
    by_tls = {
        case["parameters"].get("tls", False): case["case_id"]
        for case in done.result["plan"]["cases"]
    }
    assert set(by_tls) == {False, True}
    runs = {run["case_id"]: run["counters"] for run in done.runs}
    assert "tls_records" not in runs[by_tls[False]]
    assert runs[by_tls[True]]["tls_records"] == MESSAGES
    assert "loop, flat out, without TLS" in done.stdout
    assert "loop, flat out, over TLS 1.3" in done.stdout


def test_the_kernel_encrypts_or_one_line_says_why_it_does_not(tmp_path: Any) -> None:
    strategies = [word for name in IN_KERNEL for word in ("--strategy", name)]
    done = run_once(
        *(tmp_path, "stream", "--tls", "--lone", "--rounds", 1, "--all", *FLAT_OUT),
        *("--runtime", "loop", *strategies),
    )
    if done.result["environment"]["has_kernel_tls"]:
        for name in IN_KERNEL:
            check_of_kernel(run_of(done, f"loop/kernel-tls/{name}"), name, MESSAGES)
        return
    reasons = {each["reason"] for each in done.result["plan"]["unavailable"]}
    (reason,) = reasons
    assert len(done.result["plan"]["unavailable"]) == len(IN_KERNEL)
    assert len(reason.splitlines()) == 1
    assert reason in " ".join(done.stdout.split())


def check_of_kernel(run: Any, strategy: str, messages: int) -> None:
    """What is written is plaintext, and comes in records."""
    assert run["failure"] is None
    counters = run["counters"]
    records = counters["tls_records"]
    assert counters["written_bytes"] == counters["bytes"]
    assert counters["wire_bytes"] == counters["bytes"] + RECORD_OVERHEAD_BYTES * records
    if strategy in A_RECORD_A_MESSAGE:
        assert records == counters["writes"] == messages
    else:
        assert counters["bytes"] / MOST_RECORD_BYTES <= records <= messages


class Asked:
    """A socket of a kernel that answers so when it is asked for its TLS."""

    def __init__(self, answer: OSError | None) -> None:
        self.answer = answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def setsockopt(self, _level: int, option: int, name: bytes) -> None:
        assert (option, name) == (31, b"tls")
        if self.answer is not None:
            raise self.answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (OSError(errno.ENOENT, "no module"), 'setsockopt(TCP_ULP, "tls") fails, No such file'),
        (OSError(errno.EPERM, "denied"), "fails, Operation not permitted"),
        (OSError(errno.ENOTCONN, "no connection"), None),
        (None, None),
    ],
)
def test_the_kernel_is_asked_whether_it_has_tls(
    answer: OSError | None, said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinygram_bench.tls.kernel.socket.socket", lambda *_: Asked(answer))
    reason = runtimes.LOOP_ON_KERNEL_TLS.missing()
    assert reason == kernel.kernel_tls_refusal()
    if said is None:
        assert reason is None
    else:
        assert reason is not None
        assert said in reason


def test_a_receiver_with_another_certificate_fails_the_run_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What the near end takes for the far one's.
    monkeypatch.setattr(Stage, "certificate", lambda _stage: new_identity().certificate)
    (case,) = planned("loop/nodelay", tls=(True,), timeout_ns=60_000_000_000).cases
    with running(Stream(1)) as bench:
        run = bench.run_case(case, 0)
    assert run.failure is not None
    assert "certificate" in run.failure or "unknown ca" in run.failure


def test_a_run_without_the_package_of_certificates_fails_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (case,) = planned("loop/nodelay", tls=(True,), timeout_ns=60_000_000_000).cases
    said = "cryptography is not installed: pip install 'tinygram[tls]'"
    monkeypatch.setattr(stage, "missing_for_tls", lambda: said)
    with running(Stream(1)) as bench:
        assert bench.run_case(case, 0).failure == said


def test_the_table_of_records_is_shown_over_tls_alone(flat_out: Done, tmp_path: Any) -> None:
    plain = run_once(
        tmp_path, "stream", "--lone", "--rounds", 1, "--only", "loop/nodelay", "--messages", 100
    )
    assert "TLS records, and what they take on the wire" in flat_out.stdout
    assert "TLS" not in plain.stdout
