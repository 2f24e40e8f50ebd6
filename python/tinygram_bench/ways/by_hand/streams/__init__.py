"""The strategies on an asyncio StreamWriter: `await send(writer, bursts, way)`, one file each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tinygram_bench.loads.source import AwaitableBursts
from tinygram_bench.ways.by_hand.streams import coalesce, cork, per_message, timer
from tinygram_bench.ways.runtimes import Way

Send = Callable[[asyncio.StreamWriter, AwaitableBursts, Way], Coroutine[Any, Any, None]]

STRATEGIES: dict[str, Send] = {
    "nagle": per_message.send_with_nagle,
    "nodelay": per_message.send,
    "coalesce": coalesce.send,
    "cork": cork.send,
    "timer": timer.send,
}
