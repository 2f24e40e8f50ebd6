"""The command's manners: exit codes, one-line errors, no traceback for what the user can mend."""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Callable

import jsonschema
import pytest
import typer
from tests.support.command import Refused

import tinygram
from tinygram_bench.cli import app as app_module
from tinygram_bench.cli import main
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.help import features, version
from tinygram_bench.model.errors import UsageError
from tinygram_bench.schema import json_schema

COMMAND = [sys.executable, "-B", "-m", "tinygram_bench"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def exit_code_of(monkeypatch: pytest.MonkeyPatch, command: Callable[[], object]) -> object:
    """The exit code of `tinygram` when its subcommand is `command`."""
    faulty = typer.Typer(rich_markup_mode=None)
    faulty.command()(command)
    monkeypatch.setattr(app_module, "app", faulty)
    monkeypatch.setattr(sys, "argv", ["tinygram"])
    with pytest.raises(SystemExit) as exited:
        main()
    return exited.value.code


def test_version() -> None:
    done = run("--version")
    first, *others = done.stdout.splitlines()
    assert (done.returncode, first) == (0, f"tinygram {tinygram.__version__}")
    facts = dict(line.split(maxsplit=1) for line in others)
    assert list(facts) == [
        *("python", "kernel", "loops", "io_uring", "namespaces", "tun", "kernel-tls", "extras"),
    ]
    assert facts["python"].endswith(platform.python_version())
    assert platform.release() in facts["kernel"]
    assert facts["loops"].startswith("asyncio")
    for name in ("io_uring", "namespaces", "tun", "kernel-tls"):
        assert re.fullmatch("permitted|not permitted: .+", facts[name])
    assert "uvloop" in facts["extras"].split(", ")


def test_what_is_refused_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "io_uring_refusal", lambda: "the kernel has none")
    monkeypatch.setattr(features, "_TUN", "/none-such")
    monkeypatch.setattr(version, "kernel_tls_refusal", lambda: "this kernel has no TLS")
    lines = list(version.version_lines())
    assert "io_uring    not permitted: the kernel has none" in lines
    assert "tun         not permitted: /none-such: No such file or directory" in lines
    assert "kernel-tls  not permitted: this kernel has no TLS" in lines


@pytest.mark.parametrize("module", ["tinygram", "tinygram_bench"])
def test_the_module_is_the_command(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-m", module, "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith(f"tinygram {tinygram.__version__}\n")


@pytest.mark.parametrize(
    "words",
    [
        *(
            [],
            ["stream"],
            ["rr"],
            ["echo"],
            ["sizes"],
            ["fanout"],
            ["emulate"],
            ["watch"],
            ["schema"],
        ),
        *(["report"], ["compare"], ["rerun"], ["completion"], ["man"]),
        *(["serve"], ["serve", "rr"], ["serve", "echo"], ["serve", "sizes"]),
    ],
    ids=" ".join,
)
def test_every_command_knows_h(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, for starting one takes long; without a subcommand as its user calls it."""

    def told(option: str) -> tuple[object, str, str]:
        if not words:
            done = run(option)
            return done.returncode, done.stdout, done.stderr
        monkeypatch.setattr(sys, "argv", ["tinygram", *words, option])
        with pytest.raises(SystemExit) as exited:
            main()
        said = capsys.readouterr()
        return exited.value.code, said.out, said.err

    short = told("-h")
    code, stdout, stderr = short
    assert (code, stderr) == (0, "")
    assert stdout.startswith(" ".join(["Usage: tinygram", *words]))
    assert told("--help") == short


def test_schema_prints_a_json_schema() -> None:
    done = run("schema")
    assert done.returncode == ExitCode.OK
    printed = json.loads(done.stdout)
    jsonschema.Draft202012Validator.check_schema(printed)
    # By way of JSON, which has lists where Python has tuples.
    assert printed == json.loads(json.dumps(json_schema()))


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "Missing command; see `tinygram --help`"),
        (["shema"], "No such command 'shema'"),
        (["schema", "--foo"], "No such option: --foo; see `tinygram schema --help`"),
        (["schema", "x"], "unexpected extra argument"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(
    arguments: list[str], fault: str, refused: Refused
) -> None:
    refused(arguments, (fault,))


def test_bad_usage_is_told_to_whoever_started_the_process() -> None:
    done = run("schema", "--foo")
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.startswith("tinygram: error: ")
    assert "No such option: --foo; see `tinygram schema --help`" in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_usage_error_of_a_subcommand_is_one_line_and_exit_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        raise UsageError("unknown strategy 'nagel': one of nagle, nodelay")

    assert exit_code_of(monkeypatch, command) == ExitCode.USAGE
    assert capsys.readouterr().err == (
        "tinygram: error: unknown strategy 'nagel': one of nagle, nodelay\n"
    )


def test_an_interrupt_exits_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        raise KeyboardInterrupt

    assert exit_code_of(monkeypatch, command) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "tinygram: interrupted\n"


def test_a_subcommand_may_return_or_raise_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def returns() -> ExitCode:
        return ExitCode.RUN_FAILED

    def raises() -> None:
        raise typer.Exit(ExitCode.INCONCLUSIVE)

    assert exit_code_of(monkeypatch, returns) == ExitCode.RUN_FAILED
    assert exit_code_of(monkeypatch, raises) == ExitCode.INCONCLUSIVE


def test_our_own_faults_stay_loud(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken pipe to a worker is no reader that left: it must not end in silence."""

    def command() -> None:
        read_end, write_end = os.pipe()
        os.close(read_end)
        try:
            os.write(write_end, b"x")
        finally:
            os.close(write_end)

    with open(os.devnull, "w") as stdout, open(os.devnull, "w") as stderr:
        monkeypatch.setattr(sys, "stdout", stdout)
        monkeypatch.setattr(sys, "stderr", stderr)
        with pytest.raises(BrokenPipeError):
            exit_code_of(monkeypatch, command)


def test_a_reader_that_leaves_early_ends_it_as_any_other_program() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as output:
        done = subprocess.run(
            [*COMMAND, "schema"], stdout=output, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")


@pytest.mark.parametrize("arguments", [["--version"], ["schema"]])
def test_a_full_disk_is_told(arguments: list[str]) -> None:
    """The version fails when it is flushed, the schema when it is printed."""
    with open("/dev/full", "w") as output:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=output, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.startswith("tinygram: error: cannot write the output: the disk is full")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("module", ["tinygram", "tinygram_bench"])
@pytest.mark.parametrize("package", ["typer", "msgspec"])
def test_a_missing_extra_names_the_remedy(package: str, module: str) -> None:
    program = (
        f"import runpy, sys; sys.modules[{package!r}] = None; sys.argv[1:] = ['schema']; "
        f"runpy.run_module({module!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == ExitCode.USAGE
    assert done.stderr == (
        f"tinygram: error: the Python package {package!r}, which the bench needs, is missing: "
        "pip install 'tinygram[bench]'\n"
    )


def test_an_extra_that_is_missed_later_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A subcommand may import a package only when it needs it."""
    monkeypatch.setitem(sys.modules, "rich", None)

    def command() -> None:
        importlib.import_module("rich.table")

    assert exit_code_of(monkeypatch, command) == ExitCode.USAGE
    assert "'rich'" in capsys.readouterr().err


def test_a_missing_module_of_our_own_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def command() -> None:
        importlib.import_module("tinygram_bench.nowhere")

    with pytest.raises(ModuleNotFoundError):
        exit_code_of(monkeypatch, command)
