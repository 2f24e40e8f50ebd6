"""Count what a message costs on each face of the library, where no noise reaches: `make counts`.

callgrind counts instructions, over a clock that goes on by a fixed step at each reading
(`preloaded.c`). Those of the native module itself are judged: they depend on its code and on the
compiler alone. Those of the interpreter, of C libraries and of uvloop, which are in the table's
other columns, are another machine's own. Writes and wake-ups of the writing thread are counted in
front of the C library, and judged, too.

Exit status: 0, all is as `expected.json` says; 1, something moved; 3, instructions were not judged,
for the module was made with another compiler, or nothing was, for it runs on another Python.
`--renew` writes the file.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from published.stored import Asked, Cell, Column, Row, Table, measured, put
from published.tables import markdown
from published.telling import take_into

from counts.callgrind import dumps
from counts.judging import OF_COMPILER, SHARE, Count, Counts, differences, moved

_HERE = Path(__file__).parent
_EXPECTED = _HERE / "expected.json"
_MODULE = "/tinygram/_native"
_OF_TWO_THREADS = "a list at a time"
_JOIN = "call_soon and join by hand"
_LEAST = {
    **{f"asyncio, write{strategy}": 2.5 for strategy in ("", ", tick")},
    **{f"uvloop, write{strategy}": 2.4 for strategy in ("", ", tick")},
}
"""Face → how many times as many instructions joining by hand was asked to take."""
_COLUMNS = (
    Column("by hand ÷ ours", "by_hand_ratio", 3),
    Column("of our own code", "own", 1),
    Column("of all code", "all", 0),
    Column("writes", "writes"),
    Column("wake-ups", "wakes"),
)
_REACHED, _MOVED, _NOT_JUDGED = 0, 1, 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--renew", action="store_true", help=f"write {_EXPECTED.name}")
    parser.add_argument("--only", default="", help="faces that have this text; nothing is judged")
    take_into(parser)
    parser.add_argument("--keep", type=Path, help="leave callgrind's files in this folder")
    asked = parser.parse_args()
    if asked.into and asked.only:
        parser.error("--into stores all faces: leave --only out")
    with tempfile.TemporaryDirectory() as made:
        folder = asked.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        told = _count(folder, asked.only)
        found = dumps(folder)
    counts = Counts(_made_with(), {name: _count_of(name, told[name], found[name]) for name in told})
    table = _table(counts, told, found)
    print(markdown(table), end="\n\n", flush=True)
    if asked.into:
        put(asked.into, "counts", table)
    if asked.only:
        return _REACHED
    if asked.renew:
        _EXPECTED.write_text(counts.to_json())
        return _REACHED
    return _judge(counts, Counts.from_json(_EXPECTED.read_text()))


def _count(folder: Path, only: str) -> dict[str, dict[str, int]]:
    """Run the faces under callgrind: face → what they tell. Raises SystemExit."""
    for program in ("valgrind", "cc"):
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is missing: apt-get install valgrind build-essential")
    preloaded = folder / "preloaded.so"
    source = _HERE / "preloaded.c"
    flags = ("-O2", "-Wall", "-shared", "-fPIC")
    subprocess.run(["cc", *flags, "-o", str(preloaded), str(source)], check=True)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(_HERE.parent), *sys.path[1:]]),
        "PYTHONHASHSEED": "0",
        "LD_PRELOAD": str(preloaded),
    }
    done = subprocess.run(
        [
            *("valgrind", "--tool=callgrind", "--quiet", "--instr-atstart=no"),
            *("--compress-strings=no", "--compress-pos=no"),
            f"--callgrind-out-file={folder}/callgrind.out",
            *(sys.executable, "-m", "counts.faces", str(preloaded), only),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"the faces ended with status {done.returncode}")
    told: dict[str, dict[str, int]] = json.loads(done.stdout)
    return told


def _count_of(name: str, told: Mapping[str, int], own: Counter[str]) -> Count:
    messages = told["messages"]
    ours = sum(count for path, count in own.items() if _MODULE in path)
    return Count(
        None if _OF_TWO_THREADS in name else round(ours / messages, 1),
        told["writes"] / messages,
        told["wakes"] / messages,
    )


def _made_with() -> dict[str, str]:
    rustc = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    facts = dict(line.split(": ", 1) for line in rustc.splitlines() if ": " in line)
    return {
        "machine": platform.machine(),
        "rustc": f"{facts['release']} ({facts['commit-hash']}, LLVM {facts['LLVM version']})",
        "python": f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}",
        "uvloop": importlib.metadata.version("uvloop"),
    }


def _table(
    counts: Counts, told: Mapping[str, Mapping[str, int]], found: Mapping[str, Counter[str]]
) -> Table:
    rows = []
    for name, count in counts.faces.items():
        whole = _whole(name, told, found)
        join = f"{name.split(',')[0]}, {_JOIN}"
        has_join = join in told and join != name
        ratio = _whole(join, told, found) / whole if has_join else None
        cells = (ratio, count.instructions, whole, count.writes, count.wakes)
        names = (column.figure for column in _COLUMNS)
        rows.append(row_of(name, dict(zip(names, cells, strict=True)), ratio))
    environment = ", ".join(f"{name} {value}" for name, value in counts.made_with.items())
    return measured("python -m counts", environment, "face", _COLUMNS, rows)


def row_of(face: str, figures: dict[str, Cell], by_hand_ratio: float | None) -> Row:
    """A face's row. Counts are the same from run to run, so that a ratio alone decides."""
    least = _LEAST.get(face)
    if least is None:
        return Row(face, figures)
    is_reached = None if by_hand_ratio is None else by_hand_ratio >= least
    return Row(face, figures, Asked(at_least=least), is_reached)


def _whole(
    name: str, told: Mapping[str, Mapping[str, int]], found: Mapping[str, Counter[str]]
) -> float:
    return sum(found[name].values()) / told[name]["messages"]


def _judge(found: Counts, expected: Counts) -> int:
    different = differences(found, expected)
    if differences(found, expected, but_for=OF_COMPILER):
        print(f"NOT JUDGED, not comparable with {_EXPECTED.name}: {'; '.join(different)}")
        return _NOT_JUDGED
    told = moved(found, expected, has_instructions=not different)
    for line in told:
        print(f"MOVED {line}")
    if told:
        print("If that is meant: make counts RENEW=1, and say why in the commit.")
        return _MOVED
    if different:
        print("as expected: writes and wake-ups exactly")
        print(f"NOT JUDGED: instructions, for {'; '.join(different)}")
        return _NOT_JUDGED
    print(f"as expected: instructions ± {SHARE:.0%}, writes and wake-ups exactly")
    return _REACHED


if __name__ == "__main__":
    sys.exit(main())
