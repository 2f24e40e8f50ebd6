"""The build's own promises: missing programs are named, and CI lets no test be skipped."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHECK_TOOLS = ROOT / "scripts" / "check-tools"
BESIDE = ROOT / "scripts" / "beside"
PRESENT = {
    "python3": "exit 0",
    "cc": "exit 0",
    "cargo": "echo cargo 1.85.0",
    "rustc": "echo rustc 1.85.0",
    "openssl": "exit 0",
    "redis-server": "exit 0",
    "wrk": "exit 0",
    "coqc": "exit 0",
}


def check_tools(tmp_path: Path, what: str, **replaced: str | None) -> tuple[int, str]:
    """Exit code and words of check-tools where only the given programs exist."""
    for name, script in {**PRESENT, **replaced}.items():
        if script is not None:
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", CHECK_TOOLS, what],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_silence_when_all_tools_are_there(tmp_path: Path) -> None:
    assert check_tools(tmp_path, "build") == (0, "")
    assert check_tools(tmp_path, "lint") == (0, "")
    assert check_tools(tmp_path, "proof") == (0, "")
    assert check_tools(tmp_path, "real") == (0, "")
    assert check_tools(tmp_path, "bench-real") == (0, "")


@pytest.mark.parametrize(
    ("tool", "script", "fault", "remedy"),
    [
        ("python3", None, "python3 is missing", "python3-venv"),
        ("python3", "case $2 in *version*) exit 1;; esac", "not Python 3.11", "Debian 12"),
        ("python3", "case $2 in *venv*) exit 1;; esac", "no venv module", "python3-venv"),
        ("cc", None, "cc, a C compiler, is missing", "build-essential"),
        ("cc", "exit 1", "no C headers", "build-essential"),
        ("cargo", None, "cargo is missing", "rustup"),
        ("rustc", None, "rustc is missing", "rustup"),
        ("cargo", "echo cargo 1.84.1", "cargo 1.84.1 is too old", "cargo-web (Debian 12)"),
        ("rustc", "echo rustc 0.99.0", "rustc 0.99.0 is too old", "rustup"),
        ("cargo", "echo no toolchain; exit 1", "does not run: no toolchain", "rustup"),
    ],
)
def test_a_missing_tool_is_named_with_its_remedy(
    tmp_path: Path, tool: str, script: str | None, fault: str, remedy: str
) -> None:
    code, words = check_tools(tmp_path, "build", **{tool: script})
    assert code == 1
    assert fault in words
    assert remedy in words
    assert words.count("tinygram:") == 1


@pytest.mark.parametrize(
    ("script", "fault"), [(None, "coqc, which checks the proof, is missing"), ("exit 1", "run")]
)
def test_a_missing_prover_is_named_with_its_remedy(
    tmp_path: Path, script: str | None, fault: str
) -> None:
    code, said = check_tools(tmp_path, "proof", coqc=script)
    assert code == 1
    assert fault in said
    assert "apt-get install" in said


def test_only_counting_instructions_needs_valgrind(tmp_path: Path) -> None:
    code, words = check_tools(tmp_path, "counts")
    assert (code, words.count("valgrind, which counts instructions, is missing")) == (1, 1)
    assert "apt-get install valgrind" in words
    assert check_tools(tmp_path, "counts", valgrind="exit 0") == (0, "")


def test_only_measuring_real_programs_needs_wrk(tmp_path: Path) -> None:
    code, words = check_tools(tmp_path, "bench-real", wrk=None)
    assert (code, "wrk, which asks the HTTP servers, is missing" in words) == (1, True)
    assert "apt-get install wrk" in words
    (tmp_path / "real").mkdir()
    assert check_tools(tmp_path / "real", "real", wrk=None) == (0, "")


@pytest.mark.parametrize("version", ["1.85.0", "1.100.0 (0a1b2c3 2028-01-01)", "2.0.0-nightly"])
def test_newer_rust_is_recent_enough(tmp_path: Path, version: str) -> None:
    script = f"echo 'cargo {version}'"
    assert check_tools(tmp_path, "build", cargo=script) == (0, "")


def test_all_missing_tools_are_named_at_once(tmp_path: Path) -> None:
    nothing: dict[str, str | None] = dict.fromkeys(PRESENT)
    code, words = check_tools(tmp_path, "build", **nothing)
    assert (code, words.count("is missing")) == (1, 4)


def test_missing_linters_are_named(tmp_path: Path) -> None:
    code, words = check_tools(tmp_path, "lint", cargo='[ "$1" = fmt ]')
    assert (code, words.count("is missing")) == (1, 1)
    assert "cargo clippy is missing" in words


@pytest.mark.parametrize(
    ("tool", "script", "fault"),
    [
        ("openssl", None, "openssl, which makes certificates, is missing"),
        ("redis-server", None, "redis-server is missing"),
        ("redis-server", "echo no libssl; exit 127", "redis-server does not run: no libssl"),
    ],
)
def test_a_missing_real_program_is_named_with_its_remedy(
    tmp_path: Path, tool: str, script: str | None, fault: str
) -> None:
    code, words = check_tools(tmp_path, "real", **{tool: script})
    assert code == 1
    assert fault in words
    assert f"apt-get install {tool}" in words
    assert words.count("tinygram:") == 1


@pytest.mark.parametrize(
    ("required", "body", "expected_code"),
    [
        ("1", "@pytest.mark.skip\ndef test_skipped(): ...", 1),
        ("1", "pytest.skip('whole module', allow_module_level=True)", 1),
        ("1", "def test_run(): ...", 0),
        ("", "@pytest.mark.skip\ndef test_skipped(): ...", 0),
    ],
)
def test_where_all_are_required_a_skip_fails(
    tmp_path: Path, required: str, body: str, expected_code: int
) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_one.py").write_text(f"import pytest\n{body}\ndef test_other(): ...\n")
    if "module" in body:
        (tmp_path / "test_two.py").write_text("def test_other(): ...\n")
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", tmp_path],
        env={**os.environ, "TINYGRAM_REQUIRE_ALL": required, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == expected_code, done.stdout
    assert ("SKIPPED, AND ALL ARE REQUIRED: test_one.py" in done.stdout) == bool(expected_code)


@pytest.mark.parametrize(
    ("beside", "command", "status"),
    [(0, 0, 0), (0, 3, 3), (4, 0, 4), (4, 3, 4)],
)
def test_what_runs_beside_is_shown_whole_and_its_failure_fails_all(
    beside: int, command: int, status: int
) -> None:
    done = subprocess.run(
        [
            sys.executable,
            BESIDE,
            f"echo one; echo two >&2; exit {beside}",
            "sh",
            "-c",
            f"exit {command}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert "\none\ntwo\n--- end" in done.stdout
    assert ("FAILED beside the rest, with 4" in done.stderr) == (beside == 4)


def test_what_runs_beside_a_command_that_is_not_there_is_ended() -> None:
    done = subprocess.run(
        [sys.executable, BESIDE, "exec sleep 1000", "./nowhere"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == "cannot run ./nowhere: No such file or directory\n"


@pytest.mark.parametrize("name", ["HUP", "QUIT", "TERM"])
def test_who_ends_a_command_ends_what_runs_beside_it(name: str, tmp_path: Path) -> None:
    # It waits once it has a second thread.
    waiting = "until set -- /proc/$PPID/task/* && [ $# -gt 1 ]"
    command = f"{waiting}; do sleep 0.01; done; kill -{name} $PPID; exec sleep 1000"
    done = subprocess.run(
        [sys.executable, BESIDE, "exec sleep 1000", "sh", "-c", command],
        cwd=tmp_path,  # SIGQUIT may leave a memory image.
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=60,
    )
    assert done.returncode == 128 + getattr(signal, f"SIG{name}")


def test_a_signal_before_both_have_started_ends_both() -> None:
    """What runs beside sends it at once, when nothing else may have started."""
    done = subprocess.run(
        [sys.executable, BESIDE, "kill -TERM $PPID; exec sleep 1000", "sleep", "1000"],
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=60,
    )
    assert done.returncode == 128 + signal.SIGTERM


def test_every_script_that_the_makefile_measures_with_exists() -> None:
    told = (ROOT / "Makefile").read_text()
    told = told.replace("\\\n", " ")
    listed = re.findall(r"(?:for module in|ON_SPEED :=) ([a-z._ \t]+)", told)
    named = [*" ".join(listed).split(), *re.findall(r"\(IN_BENCHES\) ([a-z._]+)", told)]
    assert "library.speed" in named
    assert "real.servers" in named
    for module in named:
        path = ROOT / "benches" / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


def asked_of_the_claim(target: str) -> list[str]:
    """The options with which `make TARGET` would call the study."""
    done = subprocess.run(
        ["make", "--just-print", "--no-print-directory", target],
        cwd=ROOT,
        env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        capture_output=True,
        text=True,
        check=True,
    )
    (command,) = re.findall(r"\bclaim (--set .*)", done.stdout)
    return str(command).split()


@pytest.mark.parametrize(
    ("target", "measures", "page"),
    [
        ("claim", ("tuning", "full"), "claim-tuning.md"),
        ("claim-links", ("confirm", "links"), "claim-links.md"),
        ("claim-slices", ("slices", "full"), "claim-slices.md"),
        ("claim-slices-control", ("slices", "full"), "claim-slices-control.md"),
    ],
)
def test_each_target_of_the_claim_has_its_set_its_grid_and_a_page_of_its_own(
    target: str, measures: tuple[str, str], page: str
) -> None:
    """docs/claim.md takes the grid over links with the set that confirms alone."""
    asked = asked_of_the_claim(target)
    given = dict(pairwise(asked))
    assert (given["--set"], given.get("--grid", "full")) == measures
    assert given["--page"] == f"results/{page}"


def test_the_control_of_the_longer_slices_differs_from_them_in_the_slices_alone() -> None:
    longer, control = (asked_of_the_claim(f"claim-slices{kind}") for kind in ("", "-control"))
    page = control.index("--page") + 1
    assert longer == [*control[:page], longer[page], *control[page + 1 :], "--slice-ms", "200"]


def locked(path: Path) -> dict[str, set[str]]:
    """The versions of each package in a Cargo.lock."""
    versions: dict[str, set[str]] = {}
    for package in tomllib.loads(path.read_text())["package"]:
        versions.setdefault(package["name"], set()).add(package["version"])
    return versions


def test_fuzz_targets_are_built_with_the_versions_that_the_crates_have() -> None:
    """Otherwise another parser than ours is given anything, or Rust 1.85 cannot compile it."""
    ours = locked(ROOT / "Cargo.lock")
    others = {
        name: versions
        for name, versions in locked(ROOT / "fuzz" / "Cargo.lock").items()
        if not versions <= ours.get(name, versions)
    }
    assert others == {}, "cargo update --manifest-path fuzz/Cargo.toml NAME --precise VERSION"
