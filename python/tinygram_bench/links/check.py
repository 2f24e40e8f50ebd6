"""Reports which links this machine permits, backend by backend, and how to permit more."""

from __future__ import annotations

from tinygram_bench.links import sandbox
from tinygram_bench.links.backends import BACKENDS, LOOPBACK
from tinygram_bench.links.sandbox import Permission

_NAME_WIDTH = 10


def check() -> tuple[tuple[str, ...], bool]:
    """Try every backend; return lines on what was found, and whether any link can be made.

    Goes on in namespaces of our own where that is permitted (sandbox.py). Raises UsageError where
    entering them fails although it was just permitted.
    """
    found = sandbox.probe()
    lines = [_line("namespaces", found)]
    if found.is_given:
        sandbox.enter()
    is_any = False
    for backend in BACKENDS.values():
        if backend is LOOPBACK or found.is_given:
            permission = backend.probe()
        else:
            permission = Permission(False, "for it needs namespaces")
        is_any |= permission.is_given and backend is not LOOPBACK
        lines.append(_line(backend.name, permission))
    return tuple(lines), is_any


def _line(name: str, found: Permission) -> str:
    word = "yes" if found.is_given else "no "
    remedy = f"; {found.remedy}" if found.remedy else ""
    return f"{name:{_NAME_WIDTH}}  {word}  {found.why}{remedy}"
