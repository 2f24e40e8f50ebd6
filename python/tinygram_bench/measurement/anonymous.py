"""`--anonymous`: a result that does not tell whose it is.

Left out are the names of host and user wherever they appear, the result file's name, the folders of
all paths, and the addresses of other machines. CPU, kernel, versions, settings and time stay:
figures mean nothing without them.
"""

from __future__ import annotations

import ipaddress
import os
import pwd
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tinygram_bench.model.named_hosts import hosts_named
from tinygram_bench.model.result import Result

LEFT_OUT = "<anonymous>"
"""The text in place of what is left out."""
_PATH = re.compile(r"(?<![\w.>%])~?/(?:[^\s/'\\\":;,()|]+/)+(?=[^\s/'\\\":;,()|])")
_ADDRESS = re.compile(r"(?<![\w.\-])(?!127\.|localhost\b)[\w.\-]+(?=:[0-9]{1,5}\b)")
_HOSTS = ("--server", "--cluster")
_IS_HERE = re.compile(r"127\.|localhost$|::1$|auto$")
_FILES = ("--json", "--resume")
_PARAMETERS = ("receiver_command", "server_command")
_LITERAL = re.compile(
    r"(?<![\w.:])(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}"
    r"|[0-9A-Fa-f]*:[0-9A-Fa-f.:]*:[0-9A-Fa-f.:]*[0-9A-Fa-f])(?!\w)"
)
"""What may be an address of IPv4 or IPv6."""
_SAID = ("failure", "message", "reason", "answer")
"""Texts that may tell the address which a host's name has led to."""
_TEXTS = ("version", "environment", "differs")


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

    def said(text: str) -> str:
        return free(_LITERAL.sub(_elsewhere_left_out, text))

    of_text = dict.fromkeys(_TEXTS, free) | dict.fromkeys(_SAID, said)
    tree = _walked(tree, plain, of_text)
    tree["host"] = None
    for each in tree["resumptions"]:
        each["host"] = None
    tree["command"] = [free(word) for word in _without_files(tree["command"])]
    return msgspec.convert(tree, Result)


def _walked(
    found: Any, change: Callable[[str], str], of_text: Mapping[str, Callable[[str], str]]
) -> Any:
    """Change every text by `change`, and by another function where its name has one."""
    if isinstance(found, str):
        return change(found)
    if isinstance(found, Mapping):
        return {
            name: _walked(each, of_text.get(name, change), of_text) for name, each in found.items()
        }
    if isinstance(found, Sequence):
        return [_walked(each, change, of_text) for each in found]
    return found


def _elsewhere_left_out(found: re.Match[str]) -> str:
    """What is left of an address in a text: nothing, unless it is this host's, or none at all."""
    try:
        address = ipaddress.ip_address(found[0])
    except ValueError:
        return found[0]
    is_told = address.is_loopback or address.is_unspecified
    return found[0] if is_told else LEFT_OUT


def _given(result: Result) -> dict[str, str]:
    """Paths and addresses that were given as options → the text in their place."""
    given = {}
    for case in result.plan.cases:
        for name in _PARAMETERS:
            value = getattr(case.parameters, name, None) or ""
            given[value] = _PATH.sub(f"{LEFT_OUT}/", value)
        address = getattr(case.parameters, "server_address", None) or ""
        given[address] = _ADDRESS.sub(LEFT_OUT, address)
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
    found = {host, host.partition(".")[0], *_other_hosts(result)}
    try:
        found.add(pwd.getpwuid(os.getuid()).pw_name)
    except KeyError:
        found.discard("")  # This user has no name.
    known = sorted((re.escape(each) for each in found - {"", "root", "localhost"}), reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(known)})(?!\w)") if known else None


def _other_hosts(result: Result) -> Iterator[str]:
    """The hosts that the command names, and the far host, but for this machine."""
    far = result.environment.get("far", {}).get("host")
    for host in (*hosts_named(result.command, _HOSTS), *([far] if far else [])):
        if not _IS_HERE.match(host):
            yield host
