"""The how-to's command finds what issue 2195 of redis-rs found by hand, in a few seconds.

It is judged by counts, which a busy host does not change: Nagle's algorithm is a rule.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec
import pytest
from tests.support.command import Done, run_once

from tinygram_bench.model.result import Result
from tinygram_bench.statistics.verdicts.why.evidence import Evidence, evidence_of

pytestmark = pytest.mark.usefixtures("links_permitted")

PAGE = Path(__file__).parents[3] / "docs/how-to/find-waits-for-acknowledgements.md"
SHORT = ("--rounds", 1, "--duration", "1s")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return run_once(tmp_path_factory.mktemp("rr"), "rr", *words_of_the_page(), *SHORT)


def words_of_the_page() -> list[str]:
    """The options of the page's command."""
    (line,) = [line for line in PAGE.read_text().splitlines() if line.startswith("    tinygram")]
    program, workload, *options = shlex.split(line)
    assert (program, workload) == ("tinygram", "rr")
    return options


def evidence(done: Done) -> dict[str, Evidence]:
    result = msgspec.json.decode(msgspec.json.encode(done.result), type=Result)
    return {
        case.strategy: evidence_of(
            case, [run for run in result.runs if run.case_id == case.case_id]
        )
        for case in result.plan.cases
    }


def test_nagles_segments_leave_only_when_all_is_acknowledged(done: Done) -> None:
    assert done.code == 0, done.stderr
    found = evidence(done)
    nagle, nodelay = found["nagle"].alone, found["nodelay"].alone
    assert nagle is not None
    assert nodelay is not None
    assert nagle > 0.99
    assert nodelay < 0.5


def test_with_nagle_the_kernel_holds_unsent_bytes(done: Done) -> None:
    found = evidence(done)
    nagle, nodelay = found["nagle"].unsent_samples, found["nodelay"].unsent_samples
    assert nagle is not None
    assert nodelay is not None
    assert nagle > 2 * nodelay
    assert nagle > 0


def test_the_report_says_so_in_one_sentence_though_nothing_can_be_said_of_times(
    done: Done,
) -> None:
    (reason,) = [line for line in done.stdout.splitlines() if "unacknowledged" in line]
    assert reason.startswith("- nodelay against nagle, whatever their times: ")
    assert "of the segments left with nothing unacknowledged instead of 100%" in reason
