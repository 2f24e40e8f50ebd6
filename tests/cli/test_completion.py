"""`tinygram completion` prints scripts that work in bash, zsh and fish."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Outside of an editing shell: what zsh offers words by prints them, as far as they fit. As in zsh's
# defaults, `_describe -o` offers options after a hyphen alone.
OFFERING = """
        compadd() {{ shift; print -rl -- ${{(M)@:#{last}*}} }}
        _describe() {{
            [[ $1 == -o && '{last}' != -* ]] && return 1
            local names=(${{${{(P)@[-1]}}%%:*}})
            print -rl -- ${{(M)names:#{last}*}}
        }}
        _files() {{ print -rl -- {last}*(N) }}
        _command_names() {{ whence -wm '{last}*' | cut -d: -f1 }}
"""
DRIVERS = {
    "bash": """
        source ./script
        COMP_WORDS=({words} "{last}")
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        compopt() {{ :; }}
        _tinygram
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """,
    "zsh": f"""
        compdef() {{{{ :; }}}}
        {OFFERING}
        source ./script
        words=({{words}} "{{last}}")
        CURRENT=$#words
        _tinygram
    """,
    # At the first Tab a file of fpath is run, and must complete at once.
    "zsh, a file of fpath": f"""
        compdef() {{{{ print called though it completes >&2; }}}}
        {OFFERING}
        cp script _tinygram
        fpath=(.)
        autoload -Uz _tinygram
        words=({{words}} "{{last}}")
        CURRENT=$#words
        _tinygram
    """,
    "fish": """
        source ./script
        complete -C '{words} {last}'
    """,
}


def printed(shell: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-B", "-m", "tinygram_bench", "completion", shell]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def program_of(shell: Path) -> str:
    return shell.name.partition(",")[0]


@pytest.fixture(scope="module", params=DRIVERS)
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the shell's name, with its script and a result file."""
    found = tmp_path_factory.mktemp("completion") / str(request.param)
    if shutil.which(program_of(found)) is None:
        pytest.skip(f"{program_of(found)} is not installed here")
    found.mkdir()
    done = printed(program_of(found))
    assert (done.returncode, done.stderr) == (0, "")
    (found / "script").write_text(done.stdout)
    (found / "stored.json").touch()
    return found


def offered(shell: Path, words: str, last: str) -> set[str]:
    done = subprocess.run(
        [program_of(shell), "-c", DRIVERS[shell.name].format(words=words, last=last)],
        cwd=shell,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    return {line.partition("\t")[0] for line in done.stdout.split("\n") if line}


@pytest.mark.parametrize(
    ("words", "last", "expected"),
    [
        ("tinygram", "s", {"stream", "sizes", "schema", "serve"}),
        ("tinygram serve", "s", {"sizes"}),
        ("tinygram serve rr", "--re", {"--request", "--reply"}),
        ("tinygram echo", "--re", {"--reply", "--resume"}),
        ("tinygram stream --pin", "", {"apart", "same", "none"}),
        ("tinygram stream --quiet --link", "lan", {"lan-1g", "lan-100m"}),
        ("tinygram stream --rate 1k --arrival", "p", {"poisson"}),
        ("tinygram stream --json", "st", {"stored.json"}),
        ("tinygram emulate", "wi", {"wifi"}),
        ("tinygram completion", "z", {"zsh"}),
        ("tinygram report", "st", {"stored.json"}),
        ("tinygram compare stored.json", "--an", {"--anyway"}),
    ],
)
def test_what_may_come_next(shell: Path, words: str, last: str, expected: set[str]) -> None:
    assert offered(shell, words, last) == expected


def test_a_program_behind_a_link_is_completed_as_commands_are(shell: Path) -> None:
    assert "sleep" in offered(shell, "tinygram emulate wifi --", "slee")


def test_another_shell_is_refused_by_name() -> None:
    done = printed("tcsh")
    assert done.returncode == 2
    assert "'tcsh'" in done.stderr
    assert "bash, zsh, fish" in done.stderr
