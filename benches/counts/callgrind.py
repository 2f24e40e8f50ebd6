"""Reads what callgrind wrote: how many instructions each object file had of its own.

The format is in valgrind's manual, "Callgrind Format Specification"; names are not compressed
(`--compress-strings=no`), positions are not either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from string import digits

_POSITIONS = (*digits, "+", "-", "*")
_TRIGGER = "desc: Trigger: Client Request: "


def own_instructions(lines: Iterable[str]) -> Counter[str]:
    """Object file → instructions, without those of what it calls."""
    counts: Counter[str] = Counter()
    object_file = ""
    is_of_call = False
    for line in lines:
        if line.startswith("ob="):
            object_file = line.removeprefix("ob=").strip()
        elif line.startswith("calls="):
            is_of_call = True  # The next line has the cost of what is called.
        elif line.startswith(_POSITIONS):
            if not is_of_call:
                counts[object_file] += int(line.split()[1])
            is_of_call = False
    return counts


def dumps(folder: Path) -> dict[str, Counter[str]]:
    """Face → its counts, of all files in a folder that a face asked for."""
    found = {}
    for path in folder.glob("callgrind.out*"):
        lines = path.read_text().splitlines()
        for line in lines:
            if line.startswith(_TRIGGER):
                found[line.removeprefix(_TRIGGER)] = own_instructions(lines)
    return found
