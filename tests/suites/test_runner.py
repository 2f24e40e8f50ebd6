"""The comparison with the stock loops can fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.suites.compare import Accepted, complaints
from tests.suites.modules import Outcome, Ran, run_module

MODULE = "test.test_asyncio.test_buffered_proto"
TEST = f"{MODULE}.BufferedProtocolSelectorTests.test_buffered_proto_create_connection"

pytest.importorskip("test.test_asyncio", reason="apt-get install libpython3.X-testsuite")


def run(function: str, work: Path) -> Ran:
    work.mkdir()
    return run_module(MODULE, None, f"tests.suites.{function}", work)


@pytest.fixture
def stock(tmp_path: Path) -> Ran:
    return run("loops:stock", tmp_path / "stock")


def test_a_loop_that_fails_is_named_with_its_test_and_the_reason(
    stock: Ran, tmp_path: Path
) -> None:
    faulty = run("faulty_loops:refusing", tmp_path / "faulty")
    found = complaints(stock, faulty, [], needs_connections=False)
    assert list(found) == [TEST]
    assert f"{TEST}: failed, on the stock loops passed" in found[TEST]
    assert "ConnectionRefusedError: planted" in found[TEST]


def test_a_crash_names_its_test(stock: Ran, tmp_path: Path) -> None:
    faulty = run("faulty_loops:crashing", tmp_path / "faulty")
    found = complaints(stock, faulty, [], needs_connections=False)
    assert "SIGSEGV" in found["the process with our loops"]
    assert f"{TEST}: died, on the stock loops passed\nwas ended by SIGSEGV" in found[TEST]


def test_loops_that_are_not_ours_prove_nothing(stock: Ran, tmp_path: Path) -> None:
    same = run("loops:stock", tmp_path / "same")
    assert not complaints(stock, same, [], needs_connections=False)
    assert list(complaints(stock, same, [], needs_connections=True)) == ["connections"]


def test_our_loops_have_no_difference_there(stock: Ran, tmp_path: Path) -> None:
    ours = run("loops:ours", tmp_path / "ours")
    assert ours.connections > 0
    assert not complaints(stock, ours, [], needs_connections=True)


def test_what_is_accepted_and_does_not_fail_is_told() -> None:
    both = ran(a="passed", b="passed")
    assert complaints(both, both, ["a"], needs_connections=False) == {
        "a": "a is accepted as failing on our loops, but it does not fail"
    }
    ours = ran(a="failed", b="passed")
    assert not complaints(both, ours, ["a"], needs_connections=False)


@pytest.mark.parametrize("name", ["failed", "skipped", "died", "passed unexpectedly"])
def test_only_what_differs_is_told(name: str) -> None:
    passed, other = ran(a="passed", b="passed"), ran(a="passed", b=name)
    assert list(complaints(passed, other, [], needs_connections=False)) == ["b"]
    assert not complaints(other, other, [], needs_connections=False)
    assert not complaints(other, passed, [], needs_connections=False)


def test_a_test_that_did_not_run_on_ours_is_told() -> None:
    found = complaints(ran(a="passed", b="passed"), ran(a="passed"), [], needs_connections=False)
    assert list(found) == ["b"]


def test_a_module_in_which_nothing_passes_proves_nothing() -> None:
    skipped = ran(a="skipped")
    assert list(complaints(skipped, skipped, [], needs_connections=False)) == ["nothing"]


def test_an_entry_concerns_the_pythons_that_it_names() -> None:
    entry = Accepted("It is an example.", ("a",), since=(3, 12), until=(3, 13))
    asked = [(3, 11), (3, 12), (3, 13), (3, 14)]
    assert [entry.concerns(version) for version in asked] == [False, True, True, False]


def ran(**tests: str) -> Ran:
    return Ran({test: Outcome(name) for test, name in tests.items()})
