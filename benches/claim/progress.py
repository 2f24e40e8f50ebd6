"""What is done and how long it will still take, told on stderr between runs."""

from __future__ import annotations

import sys
import time
from math import ceil
from typing import TextIO

_ERASE_LINE = "\r\x1b[2K"
_LINE_EVERY_S = 30.0


class Progress:
    """One line, rewritten on a terminal, and elsewhere written every half a minute."""

    def __init__(self, give_up_s: float, stream: TextIO | None = None) -> None:
        """`give_up_s`: when the time is over (time.monotonic)."""
        self._stream = sys.stderr if stream is None else stream
        self._give_up_s = give_up_s
        self._is_terminal = self._stream.isatty()
        self._last_s = 0.0

    def show(self, round: int, done: int, count: int, cell: str) -> None:
        """Run `done` of `count` of a round is next."""
        now_s = time.monotonic()
        if not self._is_terminal and now_s - self._last_s < _LINE_EVERY_S:
            return
        self._last_s = now_s
        minutes, seconds = divmod(max(0, ceil(self._give_up_s - now_s)), 60)
        left = f"at most {minutes} min {seconds} s left"
        line = f"round {round} · run {done + 1}/{count} · {left} · {cell}"
        self._write(_ERASE_LINE + line[:100] if self._is_terminal else line + "\n")

    def tell(self, line: str) -> None:
        """Something that stays to be read."""
        self._write((_ERASE_LINE if self._is_terminal else "") + line + "\n")

    def end(self) -> None:
        """Leave the terminal's line empty."""
        if self._is_terminal:
            self._write(_ERASE_LINE)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
