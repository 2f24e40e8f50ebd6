"""The text of `tinygram trust`: what is resolved here, then the tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from tinygram_bench.links.spec import LOOPBACK
from tinygram_bench.model.result import Case, Result
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.report.exports.markdown import table_lines
from tinygram_bench.report.numbers import ratio_interval, span
from tinygram_bench.report.prose import joined
from tinygram_bench.report.table import Column, Pen, Shown, Table, table_of
from tinygram_bench.statistics.figures.words import in_words
from tinygram_bench.statistics.workloads.loads import load_name, way_of
from tinygram_bench.trust.judging import BothWays, Compared, Trusted

_TOO_FEW = (
    "What is resolved here cannot be said: intervals need 6 good rounds of each case, and some "
    "case has fewer."
)
_FOUND = {True: "shown", False: "not shown"}
_OUTCOME = {True: "right", False: "WRONG"}
_PLANTED = {
    "spin": "a spin of {} before each write",
    "sleep": "a sleep of {} before 1 % of the writes",
}


_COMPARED: tuple[Shown[Compared], ...] = (
    Shown(Column("load"), lambda each: load_name(each.case)),
    Shown(Column("figure"), lambda each: in_words(each.figure)),
    Shown(Column("ratio", 2), lambda each: f"{each.ratio.median:.4f}"),
    Shown(Column("low-high", 1), lambda each: ratio_interval(each.ratio)),
)
_ALIKE: tuple[Shown[Compared], ...] = (
    *_COMPARED,
    Shown(Column("half width"), lambda each: f"{each.half_width:.1%}"),
)
_WITH_DIFFERENCE: tuple[Shown[Compared], ...] = (
    *_COMPARED,
    Shown(Column("planted"), lambda each: _planted(each)),
    Shown(Column("difference"), lambda each: _FOUND[each.is_shown]),
)
_BOTH_WAYS: tuple[Shown[BothWays], ...] = (
    Shown(Column("case"), lambda each: case_name(each.case)),
    Shown(Column("figure"), lambda each: in_words(each.figure)),
    Shown(Column("in slices"), lambda each: span(each.in_slices)),
    Shown(Column("alone"), lambda each: span(each.alone)),
)


def write(pen: Pen, trusted: Trusted) -> None:
    """Write what was found, the answer first."""
    pen.write("The answer", "bold cyan")
    pen.list(_answer(trusted), style="bold")
    for table in _tables(trusted):
        pen.draw(table)


def page(result: Result, trusted: Trusted) -> str:
    """The same as a page in Markdown."""
    found = result.environment
    lines = [
        "# What this machine can tell apart",
        "",
        f"Measured by `{shlex.join(result.command)}` at {result.started_at} "
        f"(kernel {found.get('kernel')}, {found.get('cores')} cores, {found.get('cpu_model')}, "
        f"load average before {(found.get('load_average_1_5_15_min') or ['not known'])[0]}).",
        "",
        *(f"- {line}" for line in _answer(trusted)),
    ]
    for table in _tables(trusted):
        lines += ["", f"## {table.title}", "", *table_lines(table)]
    return "\n".join(lines) + "\n"


def _planted(each: Compared) -> str:
    """`a spin of 1us before each write, 2.9 % of the figure`."""
    said = _PLANTED[each.variant].format(format_duration_ns(each.planted_ns))
    return said if each.share is None else f"{said}, {100 * each.share:.1f} % of the figure"


def case_name(case: Case) -> str:
    """`loop/tinygram/adaptive, stream flat out`: the same name in slices and alone."""
    if case.workload == "rr":
        return case.case_id
    link = "" if case.link == LOOPBACK else f", {case.link}"
    return f"{way_of(case)}, {load_name(case)}{link}"


def _tables(trusted: Trusted) -> list[Table]:
    tables = [
        table_of("The same case, compared with itself", _ALIKE, trusted.alike),
        table_of(
            "Compared with a planted difference",
            _WITH_DIFFERENCE if trusted.is_sure else _WITH_DIFFERENCE[:-1],
            trusted.planted,
        ),
    ]
    if trusted.both_ways and trusted.is_sure:
        title = "Cases whose figures in slices differ from those of runs that are alone"
        tables.append(table_of(title, _BOTH_WAYS, trusted.apart))
    return tables


def _answer(trusted: Trusted) -> tuple[str, ...]:
    return tuple(_sentences(trusted))


def _sentences(trusted: Trusted) -> Iterator[str]:
    yield from _resolved(trusted) if trusted.is_sure else (_TOO_FEW,)
    if trusted.counted is not None:
        base, longer = (max(each, default=0) for each in trusted.counted.bytes_each)
        yield (
            f"Messages that were a byte longer: {longer:.6g} bytes each came, and {base:.6g} of "
            f"the others: {_OUTCOME[trusted.counted.is_right]}."
        )
    if trusted.frozen is not None:
        yield (
            f"A receiver that was stopped for a while: p99 is {trusted.frozen.p99_us / 1e3:.1f} "
            f"ms, and has to be {trusted.frozen.expected_us / 1e3:.1f} ms: "
            f"{_OUTCOME[trusted.frozen.is_right]}."
        )
    if trusted.both_ways and trusted.is_sure:
        names = dict.fromkeys(case_name(each.case) for each in trusted.apart)
        yield (
            f"In slices and alone: {len(trusted.apart)} of {len(trusted.both_ways)} figures are "
            f"beyond both intervals{': ' if names else ''}{joined(list(names))}."
        )


def _resolved(trusted: Trusted) -> Iterator[str]:
    """Sentences on what each load resolves, and on cases that seemed to differ from themselves."""
    by_load: dict[str, list[Compared]] = {}
    for each in trusted.alike:
        by_load.setdefault(f"{load_name(each.case)}, {way_of(each.case)}", []).append(each)
    for load, found in by_load.items():
        first, *others = found
        differences = joined(
            [
                f"{in_words(first.figure)} differences of {first.found:.1%}",
                *(f"{in_words(each.figure)} of {each.found:.1%}" for each in others),
            ]
        )
        yield (
            f"{load}: {differences} are found here in {trusted.pair_s:.0f} s, which two cases "
            f"share, at {trusted.confidence:.1%} confidence."
        )
    for each in trusted.alike:
        if each.is_shown:
            yield (
                f"{load_name(each.case)}: the same case seemed to differ from itself in "
                f"{in_words(each.figure)} (ratio {ratio_interval(each.ratio)}): one in "
                f"{1 / (1 - trusted.confidence):.0f} such comparisons may."
            )
