"""What a scenario of `rr` expects, judged: one line for each figure, and the exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.model.result import Result
from tinygram_bench.statistics.verdicts.expectations import findings
from tinygram_bench.workloads.rr import scenarios


def judge_of(
    scenario: str, case_ids: dict[str, str], output: TextIO | None
) -> Callable[[Result], ExitCode]:
    """What judges a result of the scenario, whose cases have these ids.

    What is as expected is told on `output` (None: nowhere), and what is not on standard error.
    """
    expected = scenarios.SCENARIOS[scenario].expected

    def judge(result: Result) -> ExitCode:
        found = findings(expected, case_ids, result)
        for finding in found:
            if not finding.is_as_expected:
                print(f"tinygram: scenario {scenario}: {finding.text}", file=sys.stderr)
            elif output is not None:
                print(f"scenario {scenario}: {finding.text}", file=output)
        if any(finding.is_known and not finding.is_as_expected for finding in found):
            return ExitCode.RUN_FAILED
        if not all(finding.is_known for finding in found):
            return ExitCode.INCONCLUSIVE
        return ExitCode.OK

    return judge
