"""Socket options of the connection behind a StreamWriter."""

from __future__ import annotations

import asyncio
import socket


def set_option(writer: asyncio.StreamWriter, option: int, value: int) -> None:
    """Set a TCP option of the connection behind a writer. Raises ConnectionResetError."""
    if writer.is_closing():
        # The error of drain(): each loop has another one for a socket that is closed or gone.
        raise ConnectionResetError("Connection lost")
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, option, value)
