"""Ctrl-C, SIGTERM and SIGHUP end a measurement once, and never while a process is being started.

Laws: the first signal raises KeyboardInterrupt, at once or at the end of the `held` block; every
later signal is ignored, so that finished work can be saved.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    def __init__(self) -> None:
        self._is_held = False
        self._is_pending = False
        self._has_raised = False

    def on_signal(self, _signal: int, _frame: FrameType | None) -> None:
        """End the measurement now, or when the `held` block ends."""
        if self._is_held:
            self._is_pending = True
        else:
            self._raise_once()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold interrupts back until the block ends.

        They are raised only in the main thread, so that other threads have nothing to hold back;
        besides, blocks of several threads would end in any order.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        was_held, self._is_held = self._is_held, True
        try:
            yield
        finally:
            self._is_held = was_held
        if self._is_pending and not self._is_held:
            self._is_pending = False
            self._raise_once()

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle Ctrl-C, SIGTERM and SIGHUP within the block."""
        signals = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signals.append(signal.SIGHUP)
        before = [signal.signal(number, self.on_signal) for number in signals]
        try:
            yield
        finally:
            for number, handler in zip(signals, before, strict=True):
                signal.signal(number, handler)
            self._has_raised = False

    def _raise_once(self) -> None:
        if not self._has_raised:
            self._has_raised = True
            raise KeyboardInterrupt


INTERRUPTS = Interrupts()
