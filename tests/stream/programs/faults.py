"""One fault in a stream of bytes: some are dropped, doubled, swapped, or one is altered.

`nothing` is the control: what catches the others must let it pass.
"""

from __future__ import annotations

from collections.abc import Callable

AT_BYTE = 400_000
"""Where in the stream the fault begins: behind the warm-up."""
PART_BYTES = 50

_FAULTS: dict[str, Callable[[bytes, bytes], bytes]] = {
    "nothing": lambda one, other: one + other,
    "drop": lambda one, _other: one,
    "duplicate": lambda one, other: one + other + other,
    "swap": lambda one, other: other + one,
    "alter": lambda one, other: one + other[:-1] + bytes([other[-1] ^ 1]),
    # The number of bytes is as it should be: counting alone would not see it.
    "drop-and-duplicate": lambda one, _other: one + one,
}
NAMES = tuple(_FAULTS)


class FaultyStream:
    """Passes chunks on as they come, but for its fault."""

    def __init__(self, fault: str) -> None:
        self._change = _FAULTS[fault]
        self._before_bytes = AT_BYTE
        self._held = b""
        self.is_done = False

    def passed(self, chunk: bytes) -> bytes:
        """What to pass on for this chunk: all of it, but for the fault."""
        if self.is_done:
            return chunk
        before, self._held = (
            chunk[: self._before_bytes],
            self._held + chunk[self._before_bytes :],
        )
        self._before_bytes -= len(before)
        if len(self._held) < 2 * PART_BYTES:
            return before
        one, other = self._held[:PART_BYTES], self._held[PART_BYTES : 2 * PART_BYTES]
        self.is_done = True
        return before + self._change(one, other) + self._held[2 * PART_BYTES :]
