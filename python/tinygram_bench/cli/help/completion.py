"""`tinygram completion`: a script that completes command lines in a shell.

The script has all names in it, so that completing a word does not start Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import typer

from tinygram_bench.cli.bounds import one_of
from tinygram_bench.cli.help.tree import FILES, Command, Parameter, commands_of


def completion(
    context: typer.Context,
    shell: Annotated[
        str,
        typer.Argument(
            metavar="SHELL", help="bash, zsh or fish.", autocompletion=lambda: list(SCRIPTS)
        ),
    ],
) -> None:
    """Print a script that completes commands, options and known values in a shell.

    For bash, source it in ~/.bashrc; for zsh, write it to a file `_tinygram` in a folder of $fpath;
    for fish, to ~/.config/fish/completions/tinygram.fish.
    """
    one_of("SHELL", shell, SCRIPTS)
    root: Any = context.find_root().command
    print(SCRIPTS[shell](list(commands_of(root))), end="")


def bash(commands: Sequence[Command]) -> str:
    return f"""\
# Completion of tinygram in bash.
_tinygram() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local called=tinygram index word
    COMPREPLY=()
    for ((index = 1; index < COMP_CWORD; index++)); do
        word=${{COMP_WORDS[index]}}
        if [[ $word == -- ]]; then
            COMPREPLY=($(compgen -c -- "$current"))
            return
        fi
        case "$called $word" in
            {_called(commands)}) called+=" $word" ;;
        esac
    done
    case "$called $previous" in
{_cases(commands, _bash_values)}
    esac
    case $called in
{_lines(_bash_names(each) for each in commands)}
    esac
}}
complete -F _tinygram tinygram
"""


def _bash_values(parameter: Parameter) -> str:
    return _compgen((), True) if parameter.values == FILES else _compgen(parameter.values)


def _bash_names(command: Command) -> str:
    offered = _compgen(_names(command), _takes_files(command))
    return f"        {_quoted(command.words)}) {offered} ;;"


def _compgen(words: Sequence[str], or_files: bool = False) -> str:
    kinds = [f"-W {_quoted(' '.join(words))}"] if words else []
    if or_files:
        kinds.append("-f")
    if not kinds:
        return ":"
    offered = f'COMPREPLY=($(compgen {" ".join(kinds)} -- "$current"))'
    return f"compopt -o filenames; {offered}" if or_files else offered


def zsh(commands: Sequence[Command]) -> str:
    return f"""\
#compdef tinygram
# Completion of tinygram in zsh.
_tinygram() {{
    local called=tinygram index word files
    local -a offered options
    for ((index = 2; index < CURRENT; index++)); do
        word=$words[index]
        if [[ $word == -- ]]; then
            _command_names -e
            return
        fi
        case "$called $word" in
            ({_called(commands)}) called+=" $word" ;;
        esac
    done
    case "$called $words[CURRENT-1]" in
{_cases(commands, _zsh_values)}
    esac
    case $called in
{_lines(_zsh_names(commands, each) for each in commands)}
    esac
    _describe command offered
    _describe -o option options
    [[ -n $files ]] && _files
}}
# A file of $fpath is run when tinygram is completed for the first time: it completes at once then.
if [[ $funcstack[1] == _tinygram ]]; then
    _tinygram "$@"
else
    compdef _tinygram tinygram
fi
"""


def _zsh_values(parameter: Parameter) -> str:
    if parameter.values == FILES:
        return "_files"
    return f"compadd -- {' '.join(map(_quoted, parameter.values))}" if parameter.values else ":"


def _zsh_names(commands: Sequence[Command], command: Command) -> str:
    described = _described(commands, command)
    # Zsh offers options only after a hyphen.
    options = _zsh_array(each for each in described if each[0].startswith("-"))
    offered = _zsh_array(each for each in described if not each[0].startswith("-"))
    files = " files=yes" if _takes_files(command) else ""
    return f"        ({_quoted(command.words)}) offered={offered} options={options}{files} ;;"


def _zsh_array(described: Iterable[tuple[str, str]]) -> str:
    words = (_quoted(f"{name.replace(':', chr(92) + ':')}:{said}") for name, said in described)
    return f"({' '.join(words)})"


def fish(commands: Sequence[Command]) -> str:
    called = " ".join(_quoted(each.words) for each in commands[1:])
    return f"""\
# Completion of tinygram in fish.
function __tinygram_calls
    set -l called tinygram
    for word in (commandline -opc)[2..]
        if contains -- "$called $word" {called}
            set called "$called $word"
        end
    end
    test "$called" = "$argv[1]"
end
complete -c tinygram -f
complete -c tinygram -n 'contains -- -- (commandline -opc)' -a '(complete -C (commandline -ct))'
{_lines(line for each in commands for line in _fish_lines(commands, each))}
"""


def _fish_lines(commands: Sequence[Command], command: Command) -> Iterable[str]:
    start = f"complete -c tinygram -n '__tinygram_calls \"{command.words}\"'"
    for name, said in _subcommands(commands, command):
        yield f"{start} -a {name} -d {_quoted(said)}"
    for each in command.parameters:
        value = ""
        if each.values == FILES:
            value = " -r -F"
        elif each.takes_value:
            value = f" -x{_fish_values(each.values)}"
        if each.is_argument:
            yield f"{start}{value.replace(' -x', '')}"
            continue
        long = " ".join(f"-l {name[2:]}" for name in each.names if name.startswith("--"))
        short = " ".join(f"-s {name[1:]}" for name in each.names if not name.startswith("--"))
        yield f"{start} {' '.join(filter(None, (long, short)))}{value} -d {_quoted(each.meaning)}"


def _fish_values(values: Sequence[str]) -> str:
    return f" -a {_quoted(' '.join(values))}" if values else ""


SCRIPTS: dict[str, Callable[[Sequence[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _called(commands: Sequence[Command]) -> str:
    return "|".join(_quoted(each.words) for each in commands[1:])


def _cases(commands: Sequence[Command], values: Callable[[Parameter], str]) -> str:
    """What may follow each option that takes a value: its known values, or nothing."""
    return _lines(
        f"        {'|'.join(_quoted(f'{command.words} {name}') for name in each.names)}) "
        f"{values(each)}; return ;;"
        for command in commands
        for each in command.parameters
        if each.takes_value and not each.is_argument
    )


def _names(command: Command) -> list[str]:
    return [name for name, _ in _described((), command)]


def _described(commands: Sequence[Command], command: Command) -> list[tuple[str, str]]:
    """What may come next, with its meaning: subcommands, arguments' known values, options."""
    offered = [*_subcommands(commands, command)]
    for each in command.parameters:
        names = each.names
        if each.is_argument:
            names = () if each.values == FILES else tuple(each.values)
        offered += [(name, each.meaning) for name in names]
    return offered


def _takes_files(command: Command) -> bool:
    return any(each.is_argument and each.values == FILES for each in command.parameters)


def _subcommands(commands: Sequence[Command], command: Command) -> list[tuple[str, str]]:
    summaries = {each.path: each.summary for each in commands}
    return [(name, summaries.get((*command.path, name), "")) for name in command.below]


def _quoted(text: str) -> str:
    """One word in all three shells, without apostrophes, which each escapes in its own way."""
    return "'" + text.replace("'", "’").replace("\\", "/") + "'"


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)
