"""`tinygram report`: what it makes of stored results, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import util
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from tests.support.command import Call, Called
from tests.support.hdr_format import decoded

from tinygram_bench._native import Histogram
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.model import store
from tinygram_bench.report import page

COMMAND = [sys.executable, "-B", "-m", "tinygram_bench", "report"]
STORED = Path(__file__).parents[1] / "model" / "stored"
PACED = STORED / "v1-stream-paced.json"
SIZES = STORED / "v1-sizes.json"


@pytest.fixture
def report(call: Call) -> Call:
    return partial(call, "report")


def test_it_prints_what_was_printed_when_it_was_measured(report: Call, tmp_path: Path) -> None:
    done = report(PACED, SIZES)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.split("\nv1-sizes\n")
    assert first.startswith("v1-stream-paced\nThe answer\n- ")
    assert second.startswith("The answer\n- ")
    assert list(tmp_path.iterdir()) == []


def test_what_is_saved_is_not_told_among_what_programs_read(report: Call) -> None:
    done = report(PACED, "--csv", "-", "--hlog", "a.hlog")
    assert (done.returncode, done.stderr) == (0, "Saved: a.hlog\n")
    assert done.stdout.startswith("result,case_id,")


def test_csv_has_every_figure_of_every_summary(report: Call, tmp_path: Path) -> None:
    done = report(PACED, SIZES, "--csv", "a.csv")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Saved: a.csv\n", "")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    expected = {
        (path.stem, summary.case.case_id, figure): (found.median, found.low, found.high)
        for path in (PACED, SIZES)
        for summary in store.load(path).summaries
        for figure, found in summary.figures.items()
        if found is not None
    }
    assert expected == {
        (row["result"], row["case_id"], row["figure"]): (
            *(float(row["median"]), float(row["low"]), float(row["high"])),
        )
        for row in rows
    }
    assert {row["unit"] for row in rows if row["figure"] == "latency_p50_us"} == {"µs"}


def test_hlog_has_every_histogram(report: Call) -> None:
    done = report(PACED, "--hlog", "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("#[Histogram log format version 1.3]\n")
    lines = [line for line in done.stdout.splitlines() if line.startswith("Tag=")]
    found = {}
    for line in lines:
        tag, start_s, length_s, greatest_ms, text = line.split(",")
        counts, _ = decoded(text)
        assert float(greatest_ms) * 1e6 >= max(counts)
        assert float(length_s) > 0
        found[tag, start_s] = text
    runs = [run for run in store.load(PACED).runs if run.failure is None]
    assert sorted(found.values()) == sorted(
        text
        for run in runs
        for text in run.histograms.values()
        if Histogram.from_base64(text).count
    )


def test_markdown_has_tables_that_no_name_can_break(report: Call, tmp_path: Path) -> None:
    path = tmp_path / "a|b.json"
    path.write_text(PACED.read_text().replace('"coalesce:10us"', '"<b>|a"'))
    done = report(path, "--markdown")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("## a\\|b\n\n- ")
    assert r"\<b\>\|a" in done.stdout
    tables = [line for line in done.stdout.splitlines() if line.startswith("|")]
    heads = [at for at, line in enumerate(tables) if line.startswith("|:--|")]
    assert heads
    for at, after in zip(heads, [*heads[1:], len(tables) + 1], strict=True):
        rows = tables[at - 1 : after - 1]
        assert len({line.replace(r"\|", "").count("|") for line in rows}) == 1


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("none.json",), "cannot read none.json: No such file"),
        (("folder",), "cannot read folder: Is a directory"),
        (("empty.json",), "empty.json is not a result file of tinygram: it is empty"),
        (("cut.json",), "cut.json is not a result file of tinygram"),
        (("foreign.json",), "foreign.json is not a result file of tinygram"),
        (("future.json",), "future.json has schema_version 99, and this tinygram reads 1 to 2"),
        (("older.json",), "older.json is not a result file of tinygram"),
        (("page.html",), "page.html is a page that holds no complete result"),
        (("damaged.json",), "damaged.json is damaged: "),
        ((PACED, "--csv", "none/a.csv"), "cannot write none/a.csv: No such file"),
        ((PACED, "--csv", "folder"), "cannot write folder: it is not a file"),
        ((PACED, "--csv", "/proc/a.csv"), "cannot write /proc/a.csv"),
        ((PACED, "--html", "none/a.html"), "cannot write none/a.html: No such file"),
        ((PACED, "--html", "/proc/a.html"), "cannot write /proc/a.html"),
        ((PACED, "--hlog", "none/a.hlog"), "cannot write none/a.hlog: No such file"),
        ((PACED, "--hlog", "/proc/a.hlog"), "cannot write /proc/a.hlog"),
        ((PACED, "--svg", "old.csv"), "cannot write to the folder old.csv: File exists"),
        ((PACED, "--svg", "old.csv/a"), "cannot write to the folder old.csv/a: Not a directory"),
        (("none.json", "--svg", "charts"), "cannot read none.json"),
        ((PACED, "--svg", "/proc"), "cannot write to the folder /proc: "),
        ((PACED, "--csv", "a", "--hlog", "./a"), "--hlog and --csv both write to a"),
        ((PACED, "--csv", "-", "--markdown"), "--markdown and --csv both write to -"),
        *(
            ((PACED, "--notes", *words), f"leave it out with {words[0]}")
            for words in (
                *(("--html", "a"), ("--svg", "a"), ("--csv", "-"), ("--hlog", "-")),
                ("--markdown",),
            )
        ),
        (("good.json", "--csv", "good.json"), "--csv would replace good.json, which is read"),
        (("good.json", "none.json", "--csv", "old.csv"), "cannot read none.json"),
        ((PACED, "--html", "loop"), "cannot write loop: "),
        (("loop", "--csv", "a.csv"), "cannot read loop: "),
    ],
)
def test_a_refusal_is_one_line_and_leaves_all_as_it_was(
    report: Call, tmp_path: Path, arguments: tuple[object, ...], fault: str
) -> None:
    text = PACED.read_text()
    (tmp_path / "folder").mkdir()
    contents = {
        "empty.json": "\n",
        "cut.json": text[: len(text) // 2],
        "foreign.json": '{"results": []}',
        "future.json": text.replace('"schema_version": 1', '"schema_version": 99'),
        "older.json": '{"schema_version": 1}',
        "page.html": "<!doctype html><p>tinygram</p>",
        "damaged.json": text.replace("HISTFAAA", "SGlzdAAA"),
        "good.json": text,
        "old.csv": "old",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.iterdir())
    done = report(*arguments)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    assert done.stderr.startswith("tinygram: error: ")
    assert done.stderr.count("\n") == 1
    assert fault in done.stderr
    assert sorted(tmp_path.iterdir()) == before
    assert {name: (tmp_path / name).read_text() for name in contents} == contents


@contextmanager
def full_disk() -> Iterator[None]:
    """A limit on the size of files stands for it; Python ignores the signal that tells of it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("option", ["--csv", "--html", "--hlog"])
def test_a_full_disk_leaves_the_old_file(report: Call, tmp_path: Path, option: str) -> None:
    path = tmp_path / f"a.{option.strip('-')}"
    # In this process, where other tests make pages, too: most of a page is made only once.
    assert report(SIZES, option, path.name).returncode == 0
    old = path.read_bytes()
    with full_disk():
        done = report(PACED, option, path.name)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    assert f"cannot write {path.name}: File too large; name a file" in done.stderr
    assert [(each, each.read_bytes()) for each in tmp_path.iterdir()] == [(path, old)]


def test_a_name_that_is_not_utf_8_is_shown_as_far_as_it_is(report: Call, tmp_path: Path) -> None:
    source = tmp_path / os.fsdecode(b"a\xff.json")
    shutil.copy(SIZES, source)
    done = report(source, "--html", "a.html", "--csv", "a.csv", "--hlog", "a.hlog")
    assert (done.returncode, done.stderr) == (0, "")
    assert "a\ufffd" in (tmp_path / "a.csv").read_text("utf-8")
    assert store.load(tmp_path / "a.html") == store.load(SIZES)
    assert [each.name for each in store.load_all(tmp_path / "a.html")] == ["a\ufffd"]


def test_a_name_that_standard_output_cannot_encode_is_told_with_escapes(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, SIZES, "--csv", os.fsdecode(b"a\xff.csv")],
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "utf-8:strict"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Saved: a\\udcff.csv\n", "")


def test_every_result_has_a_name_of_its_own(report: Call, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    files = ("a.json", "b/a.json", "a-2.json")
    for file in files:
        shutil.copy(SIZES, tmp_path / file)
    rows = csv.DictReader(io.StringIO(report(*files, "--csv", "-").stdout))
    assert list(dict.fromkeys(row["result"] for row in rows)) == ["a", "a-2", "a-2-2"]


def test_results_of_different_days_lie_apart_in_a_log(report: Call, tmp_path: Path) -> None:
    first = msgspec.structs.replace(store.load(PACED), started_at="2026-11-02T10:00:00Z")
    later = msgspec.structs.replace(first, started_at="2026-11-03T10:00:30Z")
    store.save(first, tmp_path / "monday.json")
    store.save(later, tmp_path / "tuesday.json")
    log = report("tuesday.json", "monday.json", "--hlog", "-").stdout
    assert "#[StartTime: 1793613600.000 (seconds since epoch), 2026-11-02T10:00:00Z]" in log
    starts_s = {
        name: min(float(line.split(",")[1]) for line in log.splitlines() if f"Tag={name}:" in line)
        for name in ("monday", "tuesday")
    }
    assert starts_s == {"monday": 0.0, "tuesday": 86_430.0}


def test_a_page_is_read_like_the_results_in_it(report: Call, tmp_path: Path) -> None:
    made = report(PACED, SIZES, "--html", "a.html")
    assert (made.returncode, made.stdout, made.stderr) == (0, "Saved: a.html\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]
    assert report("a.html").stdout == report(PACED, SIZES).stdout
    again = report("a.html", "--html", "b.html")
    assert (again.returncode, again.stderr) == (0, "")
    assert (tmp_path / "b.html").read_text() == (tmp_path / "a.html").read_text()


def large_page(
    report: Call, monkeypatch: pytest.MonkeyPatch, file: Path, into: str, most_bytes: int = 1
) -> tuple[Called, str]:
    """What is said when a page that counts as large is written, and the page."""
    with monkeypatch.context() as patched:
        patched.setattr(page, "LARGE_BYTES", most_bytes)
        done = report(file, "--html", into)
    assert (done.returncode, done.stdout) == (0, f"Saved: {into}\n")
    return done, Path(into).read_text()


def test_what_a_large_page_left_out_is_told_of_all_that_is_made_of_it(
    report: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    report(PACED, "--html", "whole.html")
    most_bytes = (tmp_path / "whole.html").stat().st_size - 1
    done, text = large_page(report, monkeypatch, PACED, "a.html", most_bytes)
    assert done.stderr == ""
    assert "What lies between is in the result file alone." in text
    again = report("a.html", "--html", "b.html", "--hlog", "b.hlog")
    assert again.stderr == (
        "tinygram: b.hlog has fewer different values of v1-stream-paced than were measured, for a "
        "large page has no more: name the result file instead\n"
    )
    assert (tmp_path / "b.html").read_text() == text
    log = report("b.html", "--hlog", "-")
    assert log.stderr == again.stderr.replace("b.hlog", "standard output")
    assert log.stdout == (tmp_path / "b.hlog").read_text()
    heads = [line for line in log.stdout.splitlines() if line.startswith("#")]
    [head] = [line for line in heads if "large page" in line]
    assert head.startswith("#[RESULT v1-stream-paced is from a large page, ")
    assert "large page" not in report(PACED, "--hlog", "-").stdout


def test_the_largest_pages_say_that_they_have_no_histograms(
    report: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    report(PACED, "--html", "a.html")
    while not store.load(tmp_path / "a.html").is_condensed:
        most_bytes = (tmp_path / "a.html").stat().st_size - 1
        done, _ = large_page(report, monkeypatch, PACED, "a.html", most_bytes)
        assert done.stderr == ""
    shown, of_file = (report(file).stdout.splitlines() for file in ("a.html", PACED))
    [remark] = [line for line in shown if line not in of_file]
    assert remark.startswith("- In the page that this result is in are the figures of each run")
    assert [line for line in shown if line != remark] == of_file
    log = report("a.html", PACED, "--hlog", "-")
    assert log.stderr == (
        "tinygram: standard output has no histograms of v1-stream-paced, for a large page has no "
        "more: name the result file instead\n"
    )


def test_a_page_that_has_no_results_inside_is_told_when_it_is_written(
    report: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, _ = large_page(report, monkeypatch, PACED, "a.html")
    assert done.stderr.startswith(
        "tinygram: a.html does not have its results inside: the figures of all runs take 0."
    )
    assert (
        "tinygram report and tinygram compare read the files that it was made from "
        "(v1-stream-paced); it has 0."
    ) in done.stderr
    read = report("a.html")
    assert read.returncode == 2
    assert "is a page that holds no complete result: name a result file" in read.stderr


def test_what_a_large_page_has_whole_is_not_said_to_be_thinned(
    report: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    report(SIZES, "--html", "whole.html")
    most_bytes = (tmp_path / "whole.html").stat().st_size - 1
    done, text = large_page(report, monkeypatch, SIZES, "a.html", most_bytes)
    assert done.stderr == ""
    assert "What lies between" not in text
    log = report("a.html", "--hlog", "-")
    assert log.stderr == ""
    assert "large page" not in log.stdout


def test_every_chart_is_a_picture_of_its_own(report: Call, tmp_path: Path) -> None:
    done = report(PACED, SIZES, "--svg", "new/charts")
    assert (done.returncode, done.stderr) == (0, "")
    pictures = sorted((tmp_path / "new" / "charts").iterdir())
    assert done.stdout == f"Saved: {len(pictures)} charts in new/charts\n"
    names = [path.name for path in pictures]
    assert "v1-stream-paced-latency-percentiles.svg" in names
    assert "v1-sizes-size-model.svg" in names
    for path in pictures:
        text = path.read_text()
        assert text.startswith("<svg")
        assert "<script" not in text


def test_nothing_in_a_result_becomes_markup_of_a_picture(report: Call, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    text = PACED.read_text().replace('"coalesce:10us"', json.dumps(hostile))
    (tmp_path / "<script>.json").write_text(text)
    done = report("<script>.json", "--svg", "charts")
    assert (done.returncode, done.stderr) == (0, "")
    shown = []
    for path in (tmp_path / "charts").iterdir():
        for element in ElementTree.fromstring(path.read_text()).iter():
            assert not element.tag.endswith("script")
            shown += [element.text or "", *element.attrib.values()]
    # It was drawn, and a reader of the picture sees it as it is.
    assert any(f"loop/{hostile}"[:20] in each for each in shown)


def test_pictures_of_names_that_look_alike_do_not_replace_each_other(
    report: Call, tmp_path: Path
) -> None:
    for name in ("a b.json", "a+b.json"):
        (tmp_path / name).write_bytes(PACED.read_bytes())
    done = report("a b.json", "a+b.json", "--svg", "charts")
    assert (done.returncode, done.stderr) == (0, "")
    pictures = sorted(path.name for path in (tmp_path / "charts").iterdir())
    assert done.stdout == f"Saved: {len(pictures)} charts in charts\n"
    assert pictures[0].startswith("a_b-1-")
    assert pictures[-1].startswith("a_b-2-")


@pytest.mark.parametrize(("option", "missing"), [("--html", "jinja2"), ("--svg", "altair")])
def test_a_missing_extra_is_named(
    report: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, missing: str
) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == missing else name)
    done = report(PACED, option, "a")
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    said = "charts need the extra `report`: pip install 'tinygram[report]'"
    assert done.stderr == f"tinygram: error: {said}\n"
    assert list(tmp_path.iterdir()) == []
