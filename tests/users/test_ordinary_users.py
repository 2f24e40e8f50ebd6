"""Users without rights, on a host as it is: every workload measures, and says what it did without.

Refused before: where the host permits such users no CUBIC (tcp_allowed_congestion_control), each of
these commands ended with exit code 2.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.users.ordinary import USERS, started_by, words_of

from tinygram_bench.host.network import settings
from tinygram_bench.host.network.settings import (
    own_congestion_control,
    permitted_congestion_control,
)
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import ALLOWED_SYSCTL

QUICK = {
    "stream": ("--messages", 2_000, "--only", "runtime=loop,strategy=nagle"),
    "rr": (
        *("--callers", "2x2", "--calls", 2, "--connections", "per-caller"),
        *("--sends-per-request", 1, "--strategy", "nodelay"),
    ),
    "echo": ("--size", 1_000, "--duration", "100ms", "--only", "asyncio/protocol"),
    "sizes": ("--sizes", 1_000, "--round-trips", 1, "--samples", 100),
}


@pytest.fixture(params=USERS)
def words(request: pytest.FixtureRequest, folder: Path) -> tuple[str, ...]:
    kept = folder / "kept"
    kept.mkdir()
    return words_of(request.param, kept)


@pytest.mark.parametrize("workload", QUICK)
def test_every_workload_measures(words: tuple[str, ...], folder: Path, workload: str) -> None:
    command = started_by(words, folder, workload)
    done = command.run(*QUICK[workload], "--rounds", 1)
    assert done.code == 0, done.stderr
    assert [run["failure"] for run in done.runs if run["failure"]] == []
    control = done.result["environment"]["congestion_control"]
    parameters = [case["parameters"] for case in done.result["plan"]["cases"]]
    assert {each.get("congestion_control", control) for each in parameters} == {control}
    is_told = f"Both sides have the congestion control {control} in every case" in done.stdout
    assert is_told == (control != "cubic")


# Which way sends is nothing to a container, and every workload is measured in one above.
@pytest.mark.parametrize("words", ["ordinary"], indirect=True)
def test_no_root_is_needed_for_the_demo(words: tuple[str, ...], folder: Path) -> None:
    """`make demo` is `tinygram stream`: the default ways, of which none may fail."""
    done = started_by(words, folder, "stream").run("--rounds", 1, "--messages", 2_000)
    assert done.code == 0, done.stderr
    assert [run["failure"] for run in done.runs if run["failure"]] == []
    assert "failed in" not in done.stdout


@pytest.mark.parametrize("subcommand", ["emulate --check", "watch"])
def test_what_is_not_permitted_is_told(
    words: tuple[str, ...], folder: Path, subcommand: str
) -> None:
    command = started_by(words, folder, subcommand)
    asked = ("--once", 1) if subcommand == "watch" else ()
    process = command.start_words(command.words(*asked))
    stdout, stderr = command.said_at_end(process)
    assert process.returncode in (0, 2), stderr
    assert stdout or stderr.startswith("tinygram: error: ")
    assert "Traceback" not in stderr
    if subcommand == "emulate --check":
        for line in stdout.splitlines():
            assert re.match(r"[a-z]+ +(yes|no) +[a-z]", line), line


@pytest.mark.parametrize("strategy", ["nagle"])
def test_a_link_is_made_or_one_line_says_why_not(
    words: tuple[str, ...], folder: Path, strategy: str
) -> None:
    command = started_by(words, folder, "stream")
    done = command.run(
        *("--link", "lan-1g", "--messages", 500, "--rounds", 1),
        *("--only", f"runtime=loop,implementation=stdlib,strategy={strategy}"),
    )
    if done.code == 2:
        assert done.stderr.startswith("tinygram: error: "), done.stderr
        assert done.stderr.count("\n") == 1
        assert "root" in done.stderr
        return
    assert done.code == 0, done.stderr
    assert [run["failure"] for run in done.runs if run["failure"]] == []


def refuse(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    def refusal(name: str) -> int | None:
        return 1 if name in names else None

    monkeypatch.setattr(settings, "_refusal", refusal)


def test_reno_takes_the_place_of_cubic_where_that_is_not_permitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert permitted_congestion_control("reno") == "reno"
    refuse(monkeypatch)
    assert permitted_congestion_control(None) == "cubic"
    refuse(monkeypatch, "cubic")
    assert permitted_congestion_control(None) == "reno"
    refuse(monkeypatch, "cubic", "reno")
    assert permitted_congestion_control(None) == own_congestion_control()


def test_between_two_hosts_it_is_one_that_everybody_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Root may have any; the far host's server has given up root's rights."""
    refuse(monkeypatch)
    for allowed, found in ((["reno", "cubic"], "cubic"), (["reno", "bbr"], "reno")):
        monkeypatch.setattr(settings, "allowed_congestion_controls", lambda names=allowed: names)
        assert permitted_congestion_control(None, is_elsewhere=True) == found
    assert permitted_congestion_control(None) == "cubic"
    assert permitted_congestion_control("cubic", is_elsewhere=True) == "cubic"


def test_what_was_asked_for_is_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, "cubic")
    with pytest.raises(UsageError) as refused:
        permitted_congestion_control("cubic")
    for remedy in ("'cubic'", "--congestion-control", "as root", ALLOWED_SYSCTL):
        assert remedy in str(refused.value)
