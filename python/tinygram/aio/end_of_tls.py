"""The end of a connection below asyncio's TLS when the peer has not ended TLS before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

if TYPE_CHECKING:
    from tinygram.aio.transport import Transport


def hand_over_before_end(inner: Any, transport: Transport) -> None:
    """Give the TLS of `inner` what `transport` holds before TLS sees the connection's end.

    Without a close_notify, TLS shuts down at once and silently drops what it is given later.
    """
    tls = getattr(inner, "_ssl_protocol", None)
    if tls is None:
        return
    # The function that the protocol calls must not keep the two alive.
    above, below = ref(transport), ref(tls)

    def eof_received() -> bool | None:
        held, ending = above(), below()
        if held is not None:
            held._hand_over()
        is_kept_open: bool | None = type(ending).eof_received(ending)  # type: ignore[union-attr]
        return is_kept_open

    tls.eof_received = eof_received
