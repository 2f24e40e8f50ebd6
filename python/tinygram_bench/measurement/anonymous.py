"""`--anonymous`: a result that does not tell whose it is.

Left out are the names of host and user wherever they appear, the result file's name, the folders of
all paths, and the addresses of other machines. CPU, kernel, versions, settings and time
stay: figures mean nothing without them.
"""

from __future__ import annotations

import os
import pwd
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from tinygram_bench.model.result import Result

LEFT_OUT = "<anonymous>"
"""The text in place of what is left out."""
_PATH = re.compile(r"(?<![\w.>%])~?/(?:[^\s/'\\\":;,()|]+/)+(?=[^\s/'\\\":;,()|])")
_ADDRESS = re.compile(r"(?<![\w.\-])(?!127\.|localhost\b)[\w.\-]+(?=:[0-9]{1,5}\b)")
_HOSTS = ("--server", "--cluster")
_HOST = re.compile(r"\[?([0-9A-Fa-f:]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.%\w]*|[\w.\-]+)")
"""The host of HOST, HOST:PORT, [IPv6]:PORT or an IPv6 address."""
_IS_HERE = re.compile(r"127\.|localhost$|::1$|auto$")
_FILES = ("--json", "--resume")
_PARAMETERS = ("receiver_command", "server_command")
_TEXTS = ("failure", "message", "reason", "answer", "version", "environment", "differs")


def anonymised(result: Result) -> Result:
    """The result without what tells whose it is."""
    tree = msgspec.to_builtins(result)
    names = _names(result)
    given = _given(result)

    def plain(text: str) -> str:
        for value, replacement in given.items():
            text = text.replace(value, replacement)
        return text

    def free(text: str) -> str:
        text = _PATH.sub(f"{LEFT_OUT}/", plain(text))
        return names.sub(LEFT_OUT, text) if names is not None else text

    tree = _walked(tree, plain, free)
    tree["host"] = None
    for each in tree["resumptions"]:
        each["host"] = None
    tree["command"] = [free(word) for word in _without_files(tree["command"])]
    return msgspec.convert(tree, Result)


def _walked(found: Any, plain: Callable[[str], str], free: Callable[[str], str]) -> Any:
    """Change every text: by `free` where it is in a user's or program's words, else by `plain`."""
    if isinstance(found, str):
        return plain(found)
    if isinstance(found, Mapping):
        return {
            name: _walked(each, free if name in _TEXTS else plain, free)
            for name, each in found.items()
        }
    if isinstance(found, Sequence):
        return [_walked(each, plain, free) for each in found]
    return found


def _given(result: Result) -> dict[str, str]:
    """Paths and addresses that were given as options → the text in their place."""
    given = {}
    for case in result.plan.cases:
        for name in _PARAMETERS:
            value = getattr(case.parameters, name, None) or ""
            given[value] = _PATH.sub(f"{LEFT_OUT}/", value)
        address = getattr(case.parameters, "server_address", None) or ""
        given[address] = _ADDRESS.sub(LEFT_OUT, address)
    for before, word in zip(result.command, result.command[1:], strict=False):
        if before == "--server":
            given[word] = _ADDRESS.sub(LEFT_OUT, word)
        elif word.startswith("--server="):
            given[word] = "--server=" + _ADDRESS.sub(LEFT_OUT, word.removeprefix("--server="))
    given |= _numbered_hosts(result)
    # The longest first: one address may be the beginning of another.
    given = dict(sorted(given.items(), key=lambda each: -len(each[0])))
    return {value: instead for value, instead in given.items() if value and value != instead}


def _numbered_hosts(result: Result) -> dict[str, str]:
    """Hosts of a cluster → names with a number, in the order of their appearance."""
    rows = [row for run in result.runs for row in run.hosts]
    hosts = dict.fromkeys([*(row.server for row in rows), *(row.host for row in rows)])
    told = result.environment.get("cluster", ())
    hosts |= dict.fromkeys(each[key] for each in told for key in ("host", "name"))
    return {host: f"host-{number}" for number, host in enumerate(hosts, start=1)}


def _without_files(words: Sequence[str]) -> list[str]:
    """The command line without the options that name the result's file."""
    kept: list[str] = []
    is_file = False
    for word in words:
        is_option = word.partition("=")[0] in _FILES
        if not is_file and not is_option:
            kept.append(word)
        is_file = is_option and "=" not in word
    return kept


def _names(result: Result) -> re.Pattern[str] | None:
    """The host's name, whole and short, the user's, unless that is root, and other hosts' names."""
    host = socket.gethostname()
    found = {host, host.partition(".")[0], *_other_hosts(result.command)}
    try:
        found.add(pwd.getpwuid(os.getuid()).pw_name)
    except KeyError:
        found.discard("")  # This user has no name.
    known = sorted((re.escape(each) for each in found - {"", "root", "localhost"}), reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(known)})(?!\w)") if known else None


def _other_hosts(command: Sequence[str]) -> Iterator[str]:
    """The hosts that the command names, with or without a port, but for this machine's own."""
    words = [part for word in command for part in word.split("=", 1)]
    for option, value in pairwise(words):
        if option in _HOSTS:
            host = _HOST.match(value)
            if host is not None and not _IS_HERE.match(host[1]):
                yield host[1]
