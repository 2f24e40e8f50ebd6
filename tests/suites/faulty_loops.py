"""Loops with a fault, which the comparison must find."""

from __future__ import annotations

import os
import signal
from typing import Any

from tests.suites.loops import Counting, ours

from tinygram.aio.connecting import Made


class _Crashing(Counting):
    async def connect(self, *_: Any, **__: Any) -> Made:
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError


class _Refusing(Counting):
    async def connect(self, *_: Any, **__: Any) -> Made:
        raise ConnectionRefusedError("planted")


def refusing() -> None:
    """Loops of ours that connect to nobody."""
    ours(_Refusing)


def crashing() -> None:
    """Loops of ours that end their process."""
    ours(_Crashing)
