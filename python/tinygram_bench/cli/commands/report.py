"""`tinygram report`: stored results, shown and handed on.

Laws: nothing is written before every file is read and every output is found to be writable; an
output replaces no result that is read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

import tinygram
from tinygram_bench.cli import stored
from tinygram_bench.cli.terminal import console
from tinygram_bench.host.packages import check_charts
from tinygram_bench.measurement.recording import summed_up
from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.plain_text import printable, write_utf8
from tinygram_bench.model.result import Named, Result
from tinygram_bench.model.store import STANDARD_OUTPUT
from tinygram_bench.report import render
from tinygram_bench.report.exports.hdr_log import hdr_log
from tinygram_bench.report.exports.markdown import report_markdown
from tinygram_bench.report.exports.summaries_csv import summaries_csv
from tinygram_bench.report.table import Pen
from tinygram_bench.trust import text as trust_text
from tinygram_bench.trust.judging import judged
from tinygram_bench.trust.plan import TRUST

_EXAMPLE_FOLDER = "--svg /tmp/charts"


def report(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            show_default=False,
            help="Result files, or pages that --html wrote.",
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write one page to this file that needs nothing else: the answer, charts, tables, "
            "warnings, and the results themselves.",
        ),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write every chart to this folder, a file each; it is made if it is missing.",
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the summaries to this file, a line for each figure of each case; - is "
            "standard output.",
        ),
    ] = None,
    hlog: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write every histogram to this file, as an HdrHistogram log; - is standard "
            "output. A large page has fewer different values, or none: name the result file "
            "instead.",
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the report as Markdown.")
    ] = False,
    notes: Annotated[
        bool,
        typer.Option(
            "--notes",
            help="Also print every note, the expert tables and how to read the figures.",
        ),
    ] = False,
) -> None:
    """Show stored results: as text, a page, pictures, or for other programs.

    Without options it prints what the measuring command printed.
    """
    asked = (("--html", html), ("--csv", csv), ("--hlog", hlog))
    outputs = {option: path for option, path in asked if path}
    instead = [*outputs, *(["--svg"] if svg else []), *(["--markdown"] if markdown else [])]
    if notes and instead:
        raise UsageError(
            "--notes is for the tables that are printed without other options: leave it out with "
            f"{', '.join(instead)}, where pages and --markdown have every note"
        )
    if html or svg:
        check_charts()
    _check(outputs, files, markdown)
    with stored.made_of(*files):
        results = _loaded(files)
        _check_drawn(results, instead)
        _hand_on(results, outputs, svg, is_markdown=markdown, with_notes=notes)


def _hand_on(
    results: Sequence[Named],
    outputs: dict[str, Path],
    svg: Path | None,
    *,
    is_markdown: bool,
    with_notes: bool,
) -> None:
    if svg:
        store.make_folder(svg, _EXAMPLE_FOLDER)
    # Where programs read standard output, nothing else is printed there.
    is_read = is_markdown or STANDARD_OUTPUT in outputs.values()
    told_on = sys.stderr if is_read else sys.stdout
    for option, path in outputs.items():
        text, remark = _MADE[option](results)
        if path == STANDARD_OUTPUT:
            write_utf8(text)
        else:
            store.write(path, text.encode(), _example(option))
            print(f"Saved: {path}", file=told_on)
        if remark:
            place = "standard output" if path == STANDARD_OUTPUT else path
            print(f"tinygram: {place} {remark}", file=sys.stderr)
    if svg:
        print(f"Saved: {_draw(results, svg)} charts in {svg}", file=told_on)
    if is_markdown:
        write_utf8(report_markdown(results))
    elif not outputs and not svg:
        _show(results, with_notes)


_Made = tuple[str, str]
"""A text, and what its reader must know about its content, from the verb on (empty: nothing)."""


def _page(results: Sequence[Named]) -> _Made:
    from tinygram_bench.report.page import LARGE_BYTES, page_of

    page = page_of(results, tinygram.__version__)
    page_bytes, remark = len(page.html.encode()), page.remark
    if remark and page_bytes > LARGE_BYTES:
        remark += f"; it has {page_bytes / 1e6:.1f} MB even so, and pages of fewer results less"
    return page.html, remark


def _csv(results: Sequence[Named]) -> _Made:
    return summaries_csv(results), ""


def _hlog(results: Sequence[Named]) -> _Made:
    told = (
        ("no histograms of {}", [each for each in results if each.result.is_condensed]),
        (
            "fewer different values of {} than were measured",
            [each for each in results if each.result.is_thinned and not each.result.is_condensed],
        ),
    )
    remarks = [what.format(", ".join(each.name for each in of)) for what, of in told if of]
    if not remarks:
        return hdr_log(results), ""
    remark = (
        f"has {' and '.join(remarks)}, for a large page has no more: name the result file instead"
    )
    return hdr_log(results), remark


_MADE: dict[str, Callable[[Sequence[Named]], _Made]] = {
    "--html": _page,
    "--csv": _csv,
    "--hlog": _hlog,
}
"""Option → the function that makes the text for its file, with what its reader must know."""


def _draw(results: Sequence[Named], folder: Path) -> int:
    """Write every chart, and return how many there are. Raises OutputError."""
    from tinygram_bench.report.exports.pictures import pictures

    drawn = {name: text.encode() for name, text in pictures(results)}
    store.write_all(folder, drawn, _EXAMPLE_FOLDER)
    return len(drawn)


def _check(outputs: dict[str, Path], files: Sequence[Path], markdown: bool) -> None:
    """Raise UsageError unless every output can be written, each to a file of its own."""
    asked = [*outputs.items(), *([("--markdown", STANDARD_OUTPUT)] if markdown else [])]
    places: dict[Path, str] = {}
    for option, path in asked:
        place = path if path == STANDARD_OUTPUT else store.real_path(path)
        if place in places:
            raise UsageError(
                f"{option} and {places[place]} both write to {path}: name another file for one"
            )
        places[place] = option
        if path == STANDARD_OUTPUT:
            continue
        if any(store.real_path(file) == place for file in files):
            raise UsageError(f"{option} would replace {path}, which is read: name another file")
        store.check_writable(path, _example(option))


def _example(option: str) -> str:
    return f"{option} /tmp/report.{option.strip('-')}"


def _check_drawn(results: Sequence[Named], options: Sequence[str]) -> None:
    """Raise UsageError where a result of `trust` is to be drawn, or written as a report."""
    of_trust = [each.name for each in results if _is_of_trust(each.result)]
    for option in options:
        if of_trust and option != "--hlog":
            raise UsageError(
                f"{option} is for what one workload measured, and {of_trust[0]} is of `tinygram "
                "trust`: without options its answer and tables are printed"
            )


def _is_of_trust(result: Result) -> bool:
    study = result.environment.get("study")
    return isinstance(study, dict) and study.get("name") == TRUST


def _loaded(files: Sequence[Path]) -> tuple[Named, ...]:
    """All results of the files, summed up, each with a unique name. Raises UsageError."""
    results: dict[str, Named] = {}
    for file in files:
        for each in stored.load_all(file):
            endings = ("", *(f"-{number}" for number in range(2, len(results) + 3)))
            name = next(each.name + end for end in endings if each.name + end not in results)
            is_whole = bool(each.result.summaries) or _is_of_trust(each.result)
            results[name] = Named(name, each.result if is_whole else summed_up(each.result))
    return tuple(results.values())


def _show(results: Sequence[Named], notes: bool) -> None:
    """Print the reports, with names above them where there are several."""
    for at, each in enumerate(results):
        if len(results) > 1:
            print(f"{'' if at == 0 else chr(10)}{printable(each.name)}")
        if _is_of_trust(each.result):
            trust_text.write(Pen(console()), judged(each.result))
        else:
            render(each.result, console(), published=False, with_notes=notes)
