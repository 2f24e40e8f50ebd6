"""The exceptions that a `CoalescingSocket` raises when bytes were not delivered."""

from __future__ import annotations

import os
from typing import Self


class ConnectionFailedError(ConnectionError):
    """The connection failed; the attributes tell what became of the bytes handed over before."""

    def __init__(
        self, errno: int, acknowledged_bytes: int, unknown_bytes: int, unsent_bytes: int
    ) -> None:
        """`errno`: the kernel's error, or ECONNABORTED where `close` gave up what was held."""
        super().__init__(
            errno,
            f"{os.strerror(errno)}: {acknowledged_bytes} bytes were acknowledged, of "
            f"{unknown_bytes} it is unknown whether they arrived, {unsent_bytes} were never sent",
        )
        self.acknowledged_bytes = acknowledged_bytes
        """Bytes that the peer's kernel acknowledged; always 0 for a Unix socket."""
        self.unknown_bytes = unknown_bytes
        """Bytes that our kernel took, or was about to take: it is unknown whether they arrived."""
        self.unsent_bytes = unsent_bytes
        """Bytes that never left this process, with those of the message that met the failure."""

    def __reduce__(self) -> tuple[type[Self], tuple[int, int, int, int]]:
        """Let it be copied and pickled."""
        counts = (self.acknowledged_bytes, self.unknown_bytes, self.unsent_bytes)
        return type(self), (self.errno or 0, *counts)


class DeliveryTimeoutError(TimeoutError):
    """The timeout ended before everything that was handed over had been delivered."""

    def __init__(self, unknown_bytes: int, unsent_bytes: int) -> None:
        super().__init__(
            f"timed out: {unknown_bytes} bytes are not acknowledged, {unsent_bytes} not sent"
        )
        self.unknown_bytes = unknown_bytes
        """Bytes that our kernel took and goes on sending."""
        self.unsent_bytes = unsent_bytes
        """Bytes that this process holds, or held when `close` gave up."""

    def __reduce__(self) -> tuple[type[Self], tuple[int, int]]:
        """Let it be copied and pickled."""
        return type(self), (self.unknown_bytes, self.unsent_bytes)
