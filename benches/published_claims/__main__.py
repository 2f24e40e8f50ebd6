"""Measure the commands of docs/claims.md, and put their figures into its sentences.

`python -m published_claims --results DIRECTORY` runs each command whose result is not yet there,
and stores the figures for the page; `python -m published` puts them there. What a section says of
them is written by hand: the program prints each figure, a ratio with ≈ where it is not shown to
differ from 1 and with ? where no verdict can be given, for a reader to compare with the section's
heading.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace
from published import stored

from published_claims import echoing, lecture, links, requests, sending
from published_claims.evidence import Asked, Claims, Measured, Value
from tinygram_bench.cli.exit_codes import ExitCode

PARTS = (sending, requests, lecture, echoing, links)
COMMANDS: Mapping[str, str] = {
    name: words for part in PARTS for name, words in part.COMMANDS.items()
}
CLAIMS: Claims = {section: asked for part in PARTS for section, asked in part.CLAIMS.items()}
_ROWS = stored.ROWS / "claims.json"
_MEASURED = f"{stored.SENTENCES}-of-commands"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="published_claims", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--results", type=Path, required=True, help="Directory of the results.")
    parser.add_argument("--no-measuring", action="store_true", help="Use the results that exist.")
    asked = parser.parse_args()
    asked.results.mkdir(exist_ok=True)
    if not asked.no_measuring:
        for name, words in COMMANDS.items():
            _measure(asked.results / f"{name}.json", words)
    measured = {
        name: Measured(path)
        for name in COMMANDS
        if (path := asked.results / f"{name}.json").exists()
    }
    if not measured:
        raise SystemExit(f"{asked.results} has no result of these commands: {', '.join(COMMANDS)}")
    _store(measured)
    return 0


def _measure(path: Path, words: str) -> None:
    """Run `tinygram WORDS` unless its result is there; raises SystemExit where it fails."""
    if path.exists():
        return
    print(f"tinygram {words}", flush=True)
    command = [sys.executable, "-m", "tinygram_bench", *words.split(), "--quiet", "--anonymous"]
    begun = path.with_suffix(".begun")
    ended = subprocess.run([*command, "--json", str(begun)], check=False)
    # A run that failed is left out of its figures: a full accept queue resets connections.
    if ended.returncode not in (ExitCode.OK, ExitCode.RUN_FAILED):
        raise SystemExit(
            f"it failed with status {ended.returncode}; what it measured is in {begun}"
        )
    begun.rename(path)


def _store(measured: Mapping[str, Measured]) -> None:
    """Store the sections whose commands were measured; the others stay as they were stored.

    Raises SystemExit where the results are of different hosts, or lack what such results had.
    """
    hosts = {_host(each) for each in measured.values()}
    if len(hosts) > 1:
        raise SystemExit(f"the results are of different hosts: {'; '.join(sorted(hosts))}")
    rows = [row for section in CLAIMS for row in _rows(section, measured)]
    fresh = {row.figures["section"] for row in rows}
    earlier = stored.read(_ROWS).tables
    before = earlier[_MEASURED].rows if _MEASURED in earlier else []
    if lacking := {str(row.figures["section"]) for row in before} - fresh:
        raise SystemExit(f"these were measured before, and now are not: {', '.join(lacking)}")
    table = stored.measured("python -m published_claims", hosts.pop(), "sentence", [], rows)
    begun = min(str(each.result.started_at) for each in measured.values())
    stored.put(_ROWS, _MEASURED, replace(table, on=datetime.fromisoformat(begun).date()))


def _host(measured: Measured) -> str:
    facts = measured.result.environment
    machine = f"{facts['cpu_model']}, {facts['cores']} cores, Linux {facts['kernel']}"
    return f"{machine}, {facts['python']}"


def _rows(section: str, measured: Mapping[str, Measured]) -> Iterator[stored.Row]:
    """Print and give its figures; there are none where a command of it was not measured."""
    asked = CLAIMS[section]
    if any(each.command not in measured for each in asked):
        print(f"\n{section}: not measured, the stored figures stay")
        return
    print(f"\n{section}")
    for each in asked:
        figure = _figure(each, measured[each.command])
        is_alike = not (isinstance(each, Value) or figure.is_shown)
        mark = "?" if figure.is_doubtful else "≈" if is_alike else ""
        print(f"  {figure.median:,.4g} ({figure.low:,.4g}–{figure.high:,.4g}){mark}  {each}")
        yield stored.Row(str(each), {"section": section, "told": figure})


def _figure(asked: Asked, measured: Measured) -> stored.Figure:
    found = asked.of(measured)
    if found is None:
        raise SystemExit(f"there is no figure for {asked}")
    return found


if __name__ == "__main__":
    sys.exit(main())
