"""Other projects' tests of event loops pass on our loops as they do on the stock ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.suites.accepted import ACCEPTED, CONNECTING, NOT_RUN, VERSION
from tests.suites.compare import complaints
from tests.suites.modules import Ran, Suite, cpythons, run_module, uvloops

SUITES = (cpythons(), uvloops())
MODULES = [
    pytest.param(suite, module, id=f"{suite.name}-{module.rpartition('.')[2]}")
    for suite in SUITES
    for module in suite.modules
    if module not in NOT_RUN
]


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_there_is_a_suite(suite: Suite) -> None:
    assert suite.modules, suite.remedy


@pytest.mark.parametrize(("suite", "module"), MODULES)
def test_a_module_does_on_our_loops_what_it_does_on_the_stock_ones(
    suite: Suite, module: str, tmp_path: Path
) -> None:
    """What depends on the moment does not fail twice: only what fails again is wrong.

    Then the stock loops come first and ours after them: at the same time, both take the port that
    a test has just found to be free.
    """
    wrong = _complaints(suite, module, tmp_path / "first", at_a_time=2)
    if wrong:
        again = _complaints(suite, module, tmp_path / "again", at_a_time=1)
        wrong = {name: text for name, text in again.items() if name in wrong}
    assert not wrong, "\n\n".join(wrong.values())


def test_what_is_said_of_modules_is_said_of_some_that_exist() -> None:
    known = {module for suite in SUITES for module in suite.modules}
    named = {*NOT_RUN, *CONNECTING, *(_module_of(test) for test in _accepted_tests())}
    assert not named - known


def _complaints(suite: Suite, module: str, work: Path, at_a_time: int) -> dict[str, str]:
    def run(kind: str) -> Ran:
        (work / kind).mkdir(parents=True)
        return run_module(module, suite.folder, f"tests.suites.loops:{kind}", work / kind)

    with ThreadPoolExecutor(at_a_time) as pool:
        stock, ours = pool.map(run, ["stock", "ours"])
    accepted = [test for test in _accepted_tests() if _module_of(test) == module]
    return complaints(stock, ours, accepted, needs_connections=module in CONNECTING)


def _accepted_tests() -> list[str]:
    return [test for entry in ACCEPTED if entry.concerns(VERSION) for test in entry.tests]


def _module_of(test: str) -> str:
    return test.rsplit(".", 2)[0]
