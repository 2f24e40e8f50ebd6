"""`tinygram compare` as its user calls it: what it prints, refuses, and exits with."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.command import Call, Called
from tests.support.compared import compared_result

from tinygram_bench.measurement.recording import summed_up
from tinygram_bench.model import store
from tinygram_bench.model.result import Result, Run

RATES = {way: [1e5] * 8 for way in ("nodelay", "nagle")}
WRITES = {"nodelay": [1000] * 8, "nagle": [50] * 8}
BASE = compared_result(RATES, WRITES)


@pytest.fixture
def compare(call: Call) -> Call:
    return partial(call, "compare")


@pytest.fixture
def compared(compare: Call, tmp_path: Path) -> Call:
    """The same of two results, before and after, with options."""

    def of_results(before: Result, after: Result, *options: str) -> Called:
        save(tmp_path, before, after)
        return compare("before.json", "after.json", *options)

    return of_results


def save(folder: Path, before: Result, after: Result) -> None:
    for name, result in (("before", before), ("after", after)):
        store.save(result, folder / f"{name}.json")


def test_silence_without_a_gate_is_refused(compared: Call) -> None:
    """It would hide whatever has changed."""
    done = compared(BASE, BASE, "--quiet")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--quiet needs --fail-above" in done.stderr


def test_the_same_passes_both_gates(tmp_path: Path) -> None:
    """Here alone it is a process, whose status is what a shell sees."""
    save(tmp_path, BASE, BASE)
    words = ("compare", "before.json", "after.json", "--fail-above", "5%")
    done = subprocess.run(
        [sys.executable, "-B", "-m", "tinygram_bench", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("The answer\n- No change is shown in 2 cases.\n")
    assert "- 8 figures show no change.\n" in done.stdout
    assert "- No figure is worse by more than 5%." in done.stdout


def test_what_intervals_rest_on_is_said_of_each_kind_that_is_shown(
    compared: Call, compare: Call
) -> None:
    both = " ".join(compared(BASE, BASE).stdout.split())
    for said in (
        "if rounds are independent and their logarithms normal",
        "if drift of the host met all cases of a load alike, and did not come together with",
        "widened by as much as the count varies by itself; how often one misses is not known",
    ):
        assert said in both
    counts = compare("before.json", "after.json", "--gate", "counts").stdout
    assert "The interval of a count" in counts
    assert "The interval of a time" not in counts


def test_more_writes_fail_the_gate_of_counts_and_not_that_of_times(
    compared: Call, compare: Call
) -> None:
    worse = compared_result(RATES, WRITES | {"nagle": [1000] * 8})
    done = compared(BASE, worse, "--fail-above", "5%")
    assert done.returncode == 3
    expected = "loop/nagle, stream flat out: writes per message x 20.0 (20.0-20.0)"
    assert f"- Shown to be worse by more than 5%: {expected}." in done.stdout
    assert compare("before.json", "after.json").returncode == 0
    times = compare("before.json", "after.json", "--fail-above=5%", "--gate", "times")
    assert times.returncode == 0
    asked = compare("before.json", "after.json", "--fail-above=5%", "--quiet")
    assert (asked.returncode, asked.stdout.count("\n")) == (3, 1)


def test_what_cannot_be_said_has_a_status_of_its_own(compared: Call) -> None:
    few = compared_result({way: rates[:3] for way, rates in RATES.items()})
    done = compared(few, BASE, "--fail-above", "5%", "--gate", "times")
    assert done.returncode == 4
    assert "- Of 4 figures it cannot be said.\n" in done.stdout
    assert (
        "- No figure is shown to be worse by more than 5%, but of 4 of 4 it cannot be said: "
    ) in done.stdout


def test_a_way_that_fails_altogether_fails_both_gates_and_is_told(
    compared: Call, compare: Call
) -> None:
    def failed(run: Run) -> Run:
        return replace(run, counters={}, failure="reset by peer")

    runs = [failed(each) if "nagle" in each.case_id else each for each in BASE.runs]
    done = compared(BASE, replace(BASE, runs=tuple(runs)), "--fail-above", "5%")
    told = (
        "loop/nagle, stream flat out: failed in all of its 8 rounds after, and not before: reset "
        "by peer."
    )
    printed = " ".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (3, "")
    assert f"- {told} -" in printed
    assert f"- Shown to be worse by more than 5%: {told}" in printed
    for gate in ("times", "counts"):
        asked = ("before.json", "after.json", "--fail-above=5%", "--gate", gate, "--quiet")
        assert compare(*asked).returncode == 3
    # The other way round it is no regression; of times that were not known nothing can be said.
    assert compare("after.json", "before.json", "--fail-above=5%").returncode == 4


def test_a_case_that_is_gone_is_no_pass(compared: Call) -> None:
    plan = replace(BASE.plan, cases=BASE.plan.cases[:1])
    kept = {case.case_id for case in plan.cases}
    fewer = replace(
        BASE,
        plan=plan,
        runs=tuple(run for run in BASE.runs if run.case_id in kept),
        summaries=tuple(each for each in BASE.summaries if each.case.case_id in kept),
        verdicts=(),
    )
    done = compared(BASE, fewer, "--fail-above", "5%")
    assert done.returncode == 4
    assert "- It cannot be said of cases that are gone: " in done.stdout


def test_what_is_not_comparable_is_named_with_both_values(compared: Call, compare: Call) -> None:
    case = BASE.plan.cases[0]
    longer = replace(case, parameters=replace(case.parameters, slice_ns=20_000_000))
    plan = replace(BASE.plan, seed=8, cases=(longer, *BASE.plan.cases[1:]))
    environment = BASE.environment | {"kernel": "6.2.0"}
    other = replace(BASE, host="there", environment=environment, plan=plan)
    done = compared(BASE, other)
    assert (done.returncode, done.stdout) == (2, "")
    for difference in (
        "host: here before, there after",
        "kernel: 6.1.0 before, 6.2.0 after",
        "seed of the messages: 7 before, 8 after",
        "parameters of stream/nodelay, slice_ns: not known before, 20000000 after",
    ):
        assert difference in done.stderr
    anyway = compare("before.json", "after.json", "--anyway")
    assert anyway.returncode == 0
    assert "- not comparable: kernel: 6.1.0 before, 6.2.0 after" in anyway.stdout


def test_how_fast_a_core_is_awake_hinders_times_and_not_counts(
    compared: Call, compare: Call
) -> None:
    awake = replace(BASE, environment=BASE.environment | {"cpu_latency_limit_us": 0})
    done = compared(BASE, awake)
    assert (done.returncode, done.stdout) == (2, "")
    assert "limit of a core's time to wake up (µs): not known before, 0 after" in done.stderr
    counts = compare("before.json", "after.json", "--gate", "counts")
    assert (counts.returncode, counts.stderr) == (0, "")


def test_hosts_that_are_not_known_may_be_two(compared: Call, compare: Call) -> None:
    unknown = replace(BASE, host=None)
    done = compared(unknown, unknown)
    assert (done.returncode, done.stdout) == (2, "")
    assert "host: not known before, not known after" in done.stderr
    assert compare("before.json", "after.json", "--anyway").returncode == 0


def test_versions_of_programs_are_what_one_compares(compared: Call) -> None:
    newer = replace(BASE, environment=BASE.environment | {"uvloop": "0.23.0"})
    done = compared(BASE, newer)
    assert done.returncode == 0
    assert "- uvloop: not known before, 0.23.0 after" in done.stdout


def test_results_without_a_common_case_are_refused(compared: Call) -> None:
    done = compared(BASE, compared_result({"cork": [1e5] * 8}))
    assert done.returncode == 2
    assert "before.json and after.json have no case in common" in done.stderr


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (b"", "is not a result file of tinygram"),
        (b'{"a": 1}', "is not a result file of tinygram"),
        (b"<html></html>", "is a page that holds no complete result"),
        (b'{"schema_version": 99}', "has schema_version 99, and this tinygram reads 1 to 2"),
        (store.encoded(BASE)[:-200], "is not a result file of tinygram"),
    ],
    ids=["empty", "foreign", "page", "future", "truncated"],
)
def test_a_file_that_is_no_result_is_refused_and_stays(
    tmp_path: Path, compare: Call, document: bytes, fault: str
) -> None:
    store.save(BASE, tmp_path / "before.json")
    (tmp_path / "after.json").write_bytes(document)
    done = compare("before.json", "after.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"tinygram: error: after.json {fault}" in done.stderr
    assert (tmp_path / "after.json").read_bytes() == document


def test_pages_are_compared_like_the_results_in_them(
    call: Call, compared: Call, compare: Call
) -> None:
    worse = compared_result(RATES, WRITES | {"nagle": [1000] * 8})
    of_files = compared(summed_up(BASE), summed_up(worse), "--fail-above", "5%")
    assert (of_files.returncode, of_files.stderr) == (3, "")
    for name in ("before", "after"):
        made = call("report", f"{name}.json", "--html", f"{name}.html")
        assert (made.returncode, made.stderr) == (0, "")
    assert compare("before.html", "after.html", "--fail-above", "5%") == of_files
    # Between a page and its file there is no difference.
    alike = compare("after.html", "after.json", "--fail-above", "5%", "--gate", "counts")
    assert (alike.returncode, alike.stderr) == (0, "")


def test_an_older_result_is_read(compare: Call) -> None:
    stored = str(Path(__file__).parents[1] / "model" / "stored" / "v1-stream-flat-out.json")
    done = compare(stored, stored, "--anyway")  # It does not say of which host it is.
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_gate_is_refused(compared: Call) -> None:
    done = compared(BASE, BASE, "--gate", "speed")
    assert done.returncode == 2
    assert "--gate 'speed' is unknown: the known ones are times, counts, both" in done.stderr
