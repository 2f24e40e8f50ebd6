"""Shows snapshots: once or again and again, as tables or as JSON.

On a terminal one screen is rewritten, and what does not fit is left out; elsewhere each snapshot
follows the one before, in plain lines.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from tinygram_bench.host.probes.sockets import Snapshot
from tinygram_bench.model.plain_text import write_json
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.processes.interrupts import INTERRUPTS
from tinygram_bench.report.table import Pen
from tinygram_bench.watch.reading import Reader, TargetEndedError
from tinygram_bench.watch.tables import tables_of

if TYPE_CHECKING:
    from rich.console import Console

Show = Callable[[Snapshot], None]

_TABLE_LINES = 6
"""The lines of a table that are not rows: an empty line, the title, headers, the rule."""
_OTHER_LINES = 4
"""Lines above and below the tables, and the line of the cursor."""


def show_once(reader: Reader, console: Console, *, as_json: bool) -> None:
    """Show one snapshot. Raises TargetEndedError and UsageError."""
    snapshot = reader.read()
    if as_json:
        write_json(msgspec.json.format(msgspec.json.encode(snapshot), indent=2))
    else:
        _draw(Pen(console), reader, snapshot, None)


def show_again_and_again(
    reader: Reader, console: Console, interval_ns: int, *, as_json: bool
) -> None:
    """Show a snapshot every `interval_ns`, until Ctrl-C, SIGTERM or the end of the process.

    As JSON each is one line. Raises UsageError.
    """
    told = ""
    with INTERRUPTS.handled():
        try:
            if as_json:
                _repeat(reader, interval_ns, _print_line)
            elif console.is_terminal:
                with console.screen(hide_cursor=True):
                    _repeat(reader, interval_ns, _screen(reader, console, interval_ns))
            else:
                pen = Pen(console)
                _repeat(reader, interval_ns, lambda each: _draw(pen, reader, each, None))
        except TargetEndedError as ended:
            told = str(ended)
        except KeyboardInterrupt:
            pass  # This is the normal end: nothing was cut short.
    if told and not as_json:
        Pen(console).write(told)


def _repeat(reader: Reader, interval_ns: int, show: Show) -> None:
    due_ns = time.monotonic_ns()
    while True:
        show(reader.read())
        # Snapshots come at even intervals; missed ones are left out.
        missed = max(0, time.monotonic_ns() - due_ns) // interval_ns
        due_ns += (missed + 1) * interval_ns
        time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)


def _print_line(snapshot: Snapshot) -> None:
    write_json(msgspec.json.encode(snapshot))


def _screen(reader: Reader, console: Console, interval_ns: int) -> Show:
    pen = Pen(console)

    def show(snapshot: Snapshot) -> None:
        lines = console.height - 2 * _TABLE_LINES - _OTHER_LINES - len(snapshot.listeners)
        # Written at once, because a screen that is empty in between would flicker; and not
        # interrupted, because what leaves the screen would then stay in the console's buffer.
        with INTERRUPTS.held(), console:
            console.clear()
            _draw(pen, reader, snapshot, lines)
            pen.write(f"every {format_duration_ns(interval_ns)}; Ctrl-C ends it", "dim")

    return show


def _draw(pen: Pen, reader: Reader, snapshot: Snapshot, most_rows: int | None) -> None:
    pen.write(f"{reader.target}, as {snapshot.source} tells it", "bold")
    for note in snapshot.notes:
        pen.write(note, "dim")
    tables = tables_of(snapshot, most_rows)
    for table in tables:
        pen.draw(table)
    if not tables:
        pen.write("no connection and no listener")
