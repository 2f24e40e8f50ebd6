"""The end of a connection below asyncio's TLS, where the peer tells no end of TLS before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

if TYPE_CHECKING:
    from tinygram.aio.transport import Transport


def hand_over_before_end(inner: Any, transport: Transport) -> None:
    """Let the TLS below `inner` have what `transport` holds before it sees the connection's end.

    Without a close_notify it shuts down at once, and drops without a word what it is given later.
    """
    tls = getattr(inner, "_ssl_protocol", None)
    if tls is None:
        return
    # What the protocol calls must not keep the two alive.
    above, below = ref(transport), ref(tls)

    def eof_received() -> bool | None:
        held, ending = above(), below()
        if held is not None:
            held._hand_over()
        is_kept_open: bool | None = type(ending).eof_received(ending)  # type: ignore[union-attr]
        return is_kept_open

    tls.eof_received = eof_received
