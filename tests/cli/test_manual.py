"""`tinygram man` writes pages that man(1) shows without a warning, of every command."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from tinygram_bench.cli.app import app
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.help.manual import name_of, page
from tinygram_bench.cli.help.tree import commands_of

COMMANDS = list(commands_of(get_command(app)))
CHECKERS = {
    "groff": ("groff", "-ww", "-z", "-man", "-Tutf8"),
    "mandoc": ("mandoc", "-Tlint", "-Wwarning"),
}
OTHER_QUESTIONS = Path(__file__).parents[2] / "docs" / "how-to" / "ask-other-questions.md"


def written(into: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-B", "-m", "tinygram_bench", "man", "--into", str(into)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_a_page_of_each_command_is_written(tmp_path: Path) -> None:
    done = written(tmp_path / "new" / "man1")
    assert (done.returncode, done.stderr) == (0, "")
    names = {path.name for path in (tmp_path / "new" / "man1").iterdir()}
    assert names == {f"{name_of(command)}.1" for command in COMMANDS}


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = written(tmp_path / "file" / "man1")
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"tinygram: error: cannot write to the folder {tmp_path / 'file' / 'man1'}: "
    )
    assert done.stderr.count("\n") == 1


def test_a_page_says_what_the_help_says() -> None:
    (stream,) = (each for each in COMMANDS if each.words == "tinygram stream")
    shown = page(stream, COMMANDS).replace("\\-", "-")
    for parameter in stream.parameters:
        assert f"\n.TP\n.B {parameter.usage}\n" in shown
    assert "\n.SH EXAMPLES\n.TP\n.B tinygram stream --runtime asyncio" in shown
    assert "\n.BR tinygram-serve-rr (1)" in shown


@pytest.mark.parametrize("code", ExitCode)
def test_every_exit_status_is_in_the_manual(code: ExitCode) -> None:
    shown = page(COMMANDS[0], COMMANDS).replace("\\-", "-").partition("\n.SH EXIT STATUS\n")[2]
    assert code.meaning
    assert f".TP\n.B {int(code)}\n{code.meaning}\n" in shown
    statuses = OTHER_QUESTIONS.read_text().partition("| exit code |")[2].partition("\n\n")[0]
    assert re.search(rf"^\| {int(code)} \| ", statuses, re.MULTILINE)


def test_no_text_is_a_request_of_roff() -> None:
    for command in COMMANDS:
        for line in page(command, COMMANDS).splitlines():
            assert line.isascii()
            assert not line.startswith("'")
            assert not line.startswith(".") or line.split()[0] in {
                *(".TH", ".SH", ".TP", ".PP", ".B", ".BR"),
            }


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_checker_has_nothing_to_say(checker: str, tmp_path: Path) -> None:
    if shutil.which(checker) is None:
        pytest.skip(f"{checker} is not installed here")
    for command in COMMANDS:
        path = tmp_path / f"{name_of(command)}.1"
        path.write_text(page(command, COMMANDS))
        done = subprocess.run(
            [*CHECKERS[checker], path], capture_output=True, text=True, check=False
        )
        said = [line for line in (done.stdout + done.stderr).splitlines() if "date" not in line]
        assert said == []
