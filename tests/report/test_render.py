"""The whole report: from the stored result alone, the answer first, fit for its console."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import msgspec
import pytest
from rich.console import Console
from tests.support.experiments import (
    failed,
    flat_out_run,
    histogram,
    paced_run,
    plan_of,
    result_of,
    warned,
    way,
)
from tests.support.measured.echo import measured as measured_echo
from tests.support.measured.rr import measured as measured_rr
from tests.support.measured.sizes import measured as measured_sizes
from tests.support.plans.echo import planned as planned_echo
from tests.support.plans.sizes import planned as planned_sizes
from tests.support.printed_report import printed, row, shown

from tinygram_bench.model.result import Result, Run, Unavailable, Warning
from tinygram_bench.report import render
from tinygram_bench.report.document import Document
from tinygram_bench.report.loads.winners import closing_sentences
from tinygram_bench.report.published.stream import published_ways
from tinygram_bench.report.table import fitted
from tinygram_bench.report.workloads import REPORTS
from tinygram_bench.statistics.workloads.loads import way_of
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr

THROUGHPUTS = {
    "asyncio/nodelay": 159e3,
    "asyncio/coalesce:10us": 650e3,
    "native/nodelay": 250e3,
    "loop/nodelay": 223e3,
    "loop/nagle": 223e3,
    "threads/nagle": 57e3,
    "processes/nagle": 99e3,
    "loop/coalesce:10us": 4.85e6,
}
LATENCIES = {"loop/nodelay": 40.0, "loop/coalesce:10us": 52.0}
WOBBLE = (1.0, 1.01, 0.99, 1.02, 0.98, 1.015, 0.985)
UNPINNED = Warning("congestion_control", "the congestion control is not pinned")


def _run(text: str, number: int, throughput: float) -> Run:
    run = flat_out_run(way(text), number, throughput * WOBBLE[(number + len(text)) % 7])
    queueing = histogram([50_000 + 13 * number + 100 * at for at in range(1_000)])
    run = msgspec.structs.replace(run, histograms={"queueing_ns": queueing})
    if text == "processes/nagle":
        return failed(run, "the sender raised BrokenPipeError")
    if text == "threads/nagle" and number == 0:
        return failed(run, "the receiver died")
    return warned(run, UNPINNED) if text.startswith("loop") and number < 3 else run


@pytest.fixture(scope="module")
def result() -> Result:
    runs = [_run(text, number, value) for text, value in THROUGHPUTS.items() for number in range(7)]
    runs += [
        paced_run(way(text, 1_000), number, value * WOBBLE[number])
        for text, value in LATENCIES.items()
        for number in range(7)
    ]
    cases = [*map(way, THROUGHPUTS), *(way(text, 1_000) for text in LATENCIES)]
    absent = Unavailable(way("uvloop/nodelay"), "uvloop is not installed")
    absent_paced = Unavailable(way("uvloop/nodelay", 1_000), "uvloop is not installed")
    return result_of(plan_of(cases, runs), runs, (absent, absent_paced))


def test_a_stored_result_reads_the_same(result: Result) -> None:
    stored = msgspec.json.decode(msgspec.json.encode(result), type=Result)
    assert printed(stored, published=True) == printed(result, published=True)
    assert shown(stored, 90) == shown(result, 90)


def test_a_file_gets_plain_ascii_lines_that_no_width_breaks(result: Result) -> None:
    text = printed(result, width=40, published=True)
    assert text.isascii()
    assert "\x1b" not in text
    assert text == printed(result, width=200, published=True)


def results_of_all_workloads(stream: Result) -> Iterator[Result]:
    """Results of `rr` and `sizes` with many kinds of cases, whose names are long."""
    yield stream
    echo = planned_echo()
    yield measured_echo(echo, {way_of(case): 1e4 for case in echo.cases})
    yield measured_rr(plan_rr(RrOptions()))
    yield measured_rr(plan_rr(RrOptions(runtimes=("threads", "asyncio"))))
    sizes = planned_sizes(
        strategies=["nagle", "nodelay"], setup_writes=[1, 2], predicted_bytes=[10_000_000]
    )
    yield measured_sizes(sizes, lambda case, round: 1_234.5 + case.message_bytes.max / 4e3 + round)


@pytest.fixture(scope="module")
def all_workloads(result: Result) -> list[tuple[Result, Document]]:
    """Results of all workloads, and what is reported of them, whatever the width."""
    return [
        (each, REPORTS[each.plan.cases[0].workload](each, True))
        for each in results_of_all_workloads(result)
    ]


@pytest.mark.parametrize("width", [80, 100, 140])
def test_a_terminal_gets_lines_that_fit(
    all_workloads: list[tuple[Result, Document]], width: int
) -> None:
    """Tables too are no wider: the terminal would break their lines, and they would seem to fit."""
    for each, document in all_workloads:
        assert max(map(len, shown(each, width).splitlines())) <= width
        workload = each.plan.cases[0].workload
        for section in document.sections:
            for table in (*section.tables, *section.details):
                widths = fitted(table, width, gap=1).widths
                assert sum(widths) + len(widths) - 1 <= width, f"{workload}: {table.title}"


def test_at_100_columns_little_is_left_out_and_80_keep_what_matters(result: Result) -> None:
    left_out = [line for line in shown(result, 100).splitlines() if "left out" in line]
    assert left_out == ["left out in 100 columns: mean, min, pacing error p50"]
    narrow = shown(result, 80)
    header = next(line for line in narrow.splitlines() if "p99.99" in line and "low–high" in line)
    assert header.split()[1:7] == ["p50", "low–high", "p99", "low–high", "p99.99", "max"]


def test_the_answer_comes_first(result: Result) -> None:
    sentences = closing_sentences(result)
    assert len(sentences) == 7
    head = printed(result, published=True).splitlines()[: len(sentences) + 1]
    assert head[0] == "The answer"
    plain = [re.sub("[^!-~]+", "", line.replace("–", "-")) for line in sentences]
    assert [re.sub("[^!-~]+", "", line[2:]) for line in head[1:]] == plain


def test_at_most_three_notes_follow_the_gravest_first(result: Result) -> None:
    alone = msgspec.structs.replace(result, command=("tinygram", "stream", "--lone"))
    text = printed(alone, with_notes=False)
    tail = text[text.rindex("in random order") :].splitlines()
    assert [line[:14] for line in tail[1:-1]] == [
        "- threads/nagl",
        "- uvloop/nodel",
        "- loop/nodelay",
    ]
    assert tail[1].endswith("; 1 more note like this")
    assert tail[-1].startswith("With --notes you also get 1 more note, the table ")
    assert tail[-1].endswith("and how to read the figures.")


def test_queue_lengths_are_shown_with_the_notes(result: Result) -> None:
    heading = "\nQueue length, not latency: hand-over to receipt, flat out (us)\n"
    assert heading not in printed(result, with_notes=False)
    assert heading in printed(result)
    assert heading in printed(result, published=True, with_notes=False)


def test_where_no_note_is_left_out_only_the_guide_is_named() -> None:
    runs = [flat_out_run(way("loop/nodelay"), number, 1e5) for number in range(7)]
    text = printed(
        result_of(plan_of([way("loop/nodelay")], runs), runs), published=True, with_notes=False
    )
    assert text.splitlines()[-1] == "With --notes you also get how to read the figures."


def test_rows_go_by_runtime_then_plan_and_limits_come_last(result: Result) -> None:
    lines = printed(result).splitlines()
    table = lines[lines.index("Throughput") :]
    rows = [line.split()[0] for line in table if re.match(r"[a-z]+/[a-z]", line)]
    assert rows[:9] == [
        "asyncio/nodelay",
        "asyncio/coalesce:10us",
        "loop/nodelay",
        "loop/nagle",
        "loop/coalesce:10us",
        "threads/nagle",
        "processes/nagle",
        "uvloop/nodelay",
        "native/nodelay",
    ]
    assert row(printed(result), "native/nodelay").startswith("native/nodelay (limit)")


def test_a_row_holds_its_figures(result: Result) -> None:
    verdict = next(
        each
        for each in result.verdicts
        if each.case_id.startswith("loop/coalesce:10us") and each.figure == "throughput_per_s"
    )
    assert verdict.ratio is not None
    cells = row(printed(result), "loop/coalesce:10us").split()
    assert cells[1:4] == ["4.850M", "4.753M-4.947M", f"{verdict.ratio.median:.1f}"]
    assert cells[-3:] == ["10.0", "5,000", "-"]


def test_ratios_without_a_verdict_are_marked_and_the_marks_explained(result: Result) -> None:
    text = printed(result)
    assert row(text, "loop/nodelay").split()[3] == "1"
    assert row(text, "loop/nagle").split()[3].endswith("=")
    assert "no difference from loop/nodelay shown" in text


def test_failed_and_unavailable_cases_are_rows_that_say_so(result: Result) -> None:
    text = printed(result)
    assert row(text, "processes/nagle").split()[1] == "failed"
    assert row(text, "uvloop/nodelay").split()[1] == "unavailable"
    assert row(text, "threads/nagle").startswith("threads/nagle (6 of 7)")
    assert "- processes/nagle flat out: failed in 7 of 7 rounds: the sender raised" in text
    assert "- threads/nagle flat out: failed in 1 of 7 rounds: the receiver died" in text
    assert (
        "- uvloop/nodelay flat out, uvloop/nodelay at 1,000/s, constant: unavailable: uvloop is "
        "not installed" in text
    )


def test_a_narrow_terminal_still_says_what_is_absent(result: Result) -> None:
    lines = shown(result, 60).splitlines()
    rows = [line for line in lines if line.startswith("uvloop/nodelay ")]
    assert len(rows) == 3
    assert all("unavailable" in line for line in rows)


def test_a_warning_that_cases_share_is_said_once(result: Result) -> None:
    text = printed(result)
    assert text.count("the congestion control is not pinned") == 1
    assert (
        "- loop/nodelay flat out, loop/nagle flat out, loop/coalesce:10us flat out: the congestion "
        "control is not pinned (in 3 of 7 rounds)" in text
    )


def test_what_is_flat_out_is_never_called_latency(result: Result) -> None:
    flat_out, paced = printed(result).split("stream at 1,000/s, constant")[:2]
    assert "Queue length, not latency" in flat_out
    assert "Latency from" not in flat_out
    assert "Latency from the intended send time at 1,000/s, constant" in paced
    assert "Queue length" not in paced


def test_an_unsupported_percentile_is_a_dash(result: Result) -> None:
    """7,000 pooled queueing samples support a p99, and 0.7 samples beyond p99.99 do not."""
    queueing = row(
        printed(result),
        "loop/nagle",
        "Queue length, not latency: hand-over to receipt, flat out (us)",
    )
    assert queueing.split()[-2] == "-"
    assert queueing.split()[-3] != "-"


def test_the_published_ways_are_shown_only_on_request(result: Result) -> None:
    title = "Throughput and run time beside what was published, each / its own loop/nodelay"
    assert title not in printed(result)
    text = printed(result, published=True)
    assert row(text, "asyncio/coalesce:10us", title).split()[1:3] == ["2.90", "1.11"]
    assert row(text, "loop/nodelay", title).split()[1:5] == ["1", "1.00", "1", "1.00"]
    assert row(text, "threads/coalesce:10us", title).split()[1:3] == ["-", "0.60"]


def test_the_published_figures_agree_with_each_other() -> None:
    ways = published_ways()
    assert len({(each.runtime, each.strategy) for each in ways}) == 9
    for each in ways:
        assert each.throughput_per_s * each.run_time_s == pytest.approx(1_000_000, rel=1e-6)
        assert each.latency_p99_s <= each.latency_p99_99_s


def test_an_interrupted_result_says_how_far_it_came(result: Result) -> None:
    cut = result_of(result.plan, result.runs[:9])
    text = printed(cut)
    assert "stopped after 9 of 70 runs" in text
    assert row(text, "loop/nagle").split()[1:3] == ["not", "run"]


def test_a_single_round_promises_nothing(result: Result) -> None:
    runs = [run for run in result.runs if run.round == 1]
    text = printed(result_of(plan_of(result.plan.cases, runs[:0]), runs))
    assert "Figures of a single round" in text
    assert "?  cannot say: 1 round has both, and 6 are needed" in text


def test_two_cases_that_send_the_same_way_are_told_apart() -> None:
    one = way("loop/nodelay")
    parameters = msgspec.structs.replace(one.parameters, receive_buffer_bytes=1)
    two = msgspec.structs.replace(one, case_id="loop/nodelay/other", parameters=parameters)
    runs = [flat_out_run(case, number, 1e5) for case in (one, two) for number in range(7)]
    text = printed(result_of(plan_of([one, two], runs), runs))
    assert row(text, one.case_id)
    assert row(text, two.case_id)


def test_an_empty_result_is_a_report_too() -> None:
    text = printed(result_of(plan_of([], []), []))
    assert text.startswith("The answer\n- Nothing was measured.\n")


def test_whatever_a_failure_says_the_file_stays_ascii() -> None:
    runs = [failed(flat_out_run(way("loop/nodelay"), 0, 1e5), "Verbindung zurückgesetzt – 中")]
    text = printed(result_of(plan_of([way("loop/nodelay")], runs), runs))
    assert text.isascii()
    assert "zur?ckgesetzt - ?" in text


def test_what_a_foreign_file_says_cannot_steer_a_terminal() -> None:
    said = "gone \x1b[2J\x1b]0;owned\x07"
    runs = [failed(flat_out_run(way("loop/nodelay"), 0, 1e5), said)]
    text = shown(result_of(plan_of([way("loop/nodelay")], runs), runs), 100)
    assert "gone \ufffd[2J\ufffd]0;owned\ufffd" in text
    assert "\x1b" not in text


def test_only_a_winner_that_is_shown_to_win_stands_out(result: Result) -> None:
    file = io.StringIO()
    console = Console(file=file, width=140, force_terminal=True, color_system="standard")
    render(result, console, published=False)
    best = re.findall(r"\x1b\[1;32m([a-z]+/\S+)", file.getvalue())
    assert set(best) == {"asyncio/coalesce:10us", "loop/coalesce:10us", "loop/nodelay"}
    few = result_of(result.plan, [run for run in result.runs if run.round < 5])
    file.seek(0)
    file.truncate()
    render(few, console, published=False)
    assert "\x1b[1;32m" not in file.getvalue()


def test_the_published_ways_are_set_beside_those_by_hand() -> None:
    throughputs = {"loop/nodelay": 1e5, "asyncio/nodelay": 5e4, "asyncio/tinygram/nodelay": 9e5}
    runs = [flat_out_run(way(text), 0, value) for text, value in throughputs.items()]
    text = printed(result_of(plan_of(map(way, throughputs), runs), runs), published=True)
    title = "Throughput and run time beside what was published, each / its own loop/nodelay"
    assert row(text, "asyncio/nodelay", title).split()[1] == "0.50?"


def test_our_published_ratios_are_those_of_the_table_above(result: Result) -> None:
    text = printed(result, published=True)
    title = "Throughput and run time beside what was published, each / its own loop/nodelay"
    for label in ("asyncio/coalesce:10us", "loop/nagle"):
        assert row(text, label, title).split()[1] == row(text, label).split()[3]
    assert row(text, "loop/nagle", title).split()[1].endswith("=")


def test_what_cpu_is_stands_once(result: Result) -> None:
    assert printed(result, published=True).count("CPU is the sender's") == 1


def test_modes_in_the_queue_are_noted_where_the_queue_is_shown() -> None:
    """They took one of the three notes beside tables that had no such figure."""
    case = way("loop/nodelay")
    runs = []
    for number in range(7):
        queue = histogram([13_000 if number % 2 else 51_000] * 100)
        run = flat_out_run(case, number, 1e5)
        runs.append(msgspec.structs.replace(run, histograms={"queueing_ns": queue}))
    result = result_of(plan_of([case], runs), runs)
    noted = "two modes in mean queueing time"
    assert noted in printed(result)
    assert noted in printed(result, published=True, with_notes=False)
    brief = printed(result, with_notes=False)
    assert noted not in brief
    assert "With --notes you also get 1 more note, the table" in brief


def test_modes_of_figures_that_are_not_shown_are_not_noted() -> None:
    case = way("loop/nodelay")
    runs = [flat_out_run(case, number, 1e5) for number in range(7)]
    for number, run in enumerate(runs):
        run.counters["connect_ns"] = 13_000 if number % 2 else 51_000
    result = result_of(plan_of([case], runs), runs)
    assert [warning.figures for warning in result.summaries[0].warnings] == [("connect_us",)]
    assert "two modes" not in printed(result)
