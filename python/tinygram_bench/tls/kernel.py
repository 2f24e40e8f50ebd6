"""Whether the kernel encrypts TLS records itself (Documentation/networking/tls.rst)."""

from __future__ import annotations

import errno
import os
import socket

TCP_ULP = 31


def kernel_tls_refusal() -> str | None:
    """Why the kernel's TLS cannot be used here; None: it can."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"tls")
        except OSError as error:
            # A kernel with TLS refuses only because there is no connection.
            if error.errno == errno.ENOTCONN:
                return None
            return (
                'this kernel has no TLS: setsockopt(TCP_ULP, "tls") fails, '
                f"{os.strerror(error.errno or 0)}"
            )
    return None
