"""Counts beside those that are expected, and whether the two can be compared at all."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

SHARE = 0.03
"""How much more or less instructions may become unnoticed."""


@dataclass(frozen=True)
class Count:
    """What a message costs on one face.

    `instructions`: of the native module's own code, None where they are another thread's in part;
    `writes` and `wakes`: what is handed to the kernel, of all messages of a round.
    """

    instructions: float | None
    writes: float
    wakes: float


@dataclass(frozen=True)
class Counts:
    """The counts of all faces, and what the native module was made with."""

    made_with: Mapping[str, str]
    faces: Mapping[str, Count]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises KeyError or ValueError when it is no such text."""
        read: dict[str, Any] = json.loads(text)
        faces = {name: Count(**count) for name, count in read["faces"].items()}
        return cls(read["made_with"], faces)

    def to_json(self) -> str:
        """A line for each face."""
        rows = ",\n".join(
            f"    {json.dumps(name)}: {json.dumps(asdict(count))}"
            for name, count in self.faces.items()
        )
        made_with = json.dumps(dict(self.made_with), indent=2).replace("\n", "\n  ")
        return f'{{\n  "made_with": {made_with},\n  "faces": {{\n{rows}\n  }}\n}}\n'


OF_COMPILER = ("machine", "rustc")
"""What instructions depend on, and neither writes nor wake-ups."""


def differences(found: Counts, expected: Counts, but_for: Collection[str] = ()) -> list[str]:
    """In what the two were made differently: where there is any, they are not comparable."""
    names = sorted({*found.made_with, *expected.made_with} - set(but_for))
    return [
        f"{name} is {found.made_with.get(name)}, and was {expected.made_with.get(name)}"
        for name in names
        if found.made_with.get(name) != expected.made_with.get(name)
    ]


def moved(found: Counts, expected: Counts, *, has_instructions: bool = True) -> list[str]:
    """What is not as expected, in words; of counts that can be compared."""
    told = []
    for name in sorted({*found.faces, *expected.faces}):
        now, before = found.faces.get(name), expected.faces.get(name)
        if now is None or before is None:
            told.append(f"{name}: {'not expected' if before is None else 'not counted'}")
            continue
        if has_instructions and not _is_near(now.instructions, before.instructions):
            told.append(
                f"{name}: {shown(now.instructions)} instructions a message, expected "
                f"{shown(before.instructions)} ± {SHARE:.0%}"
            )
        for what in ("writes", "wakes"):
            counted, wanted = getattr(now, what), getattr(before, what)
            if counted != wanted:
                told.append(f"{name}: {counted:.5g} {what} a message, expected {wanted:.5g}")
    return told


def shown(instructions: float | None) -> str:
    return "–" if instructions is None else f"{instructions:,.1f}"


def _is_near(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return abs(found - expected) <= SHARE * expected
