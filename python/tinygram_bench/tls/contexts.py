"""TLS as both ends use it: version 1.3, one cipher, the run's certificate, and nothing else.

There are no session tickets, so that only what the two ends write flows after the handshake.
"""

from __future__ import annotations

import os
import ssl

from tinygram_bench.tls.certificates import Identity

VERSION = "TLSv1.3"
CIPHER = "TLS_AES_256_GCM_SHA384"
"""The cipher that OpenSSL prefers. Python's ssl module cannot choose ciphers of TLS 1.3, so this is
checked after the handshake."""
MOST_RECORD_BYTES = 1 << 14
"""The most plaintext of a record."""


class CipherError(OSError):
    """The two ends agreed on another version or cipher than the measured one."""


def server_context(identity: Identity) -> ssl.SSLContext:
    """The context of the end that shows the certificate. Raises ssl.SSLError."""
    context = _pinned(ssl.PROTOCOL_TLS_SERVER)
    context.num_tickets = 0
    # The ssl module loads keys only from files; this file is in memory.
    fd = os.memfd_create("identity")
    try:
        with open(fd, "w", closefd=False) as file:
            file.write(identity.key + identity.certificate)
        context.load_cert_chain(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)
    return context


def client_context(certificate: str) -> ssl.SSLContext:
    """The context of the end that trusts only this certificate (PEM). Raises ssl.SSLError."""
    context = _pinned(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=certificate)
    except (TypeError, ValueError) as error:  # It is empty, or has what is not ASCII.
        raise ssl.SSLError(f"what the other end shows is no certificate: {error}") from error
    return context


def check_agreed(connection: ssl.SSLObject | ssl.SSLSocket) -> None:
    """Raise CipherError unless the two ends agreed on VERSION and CIPHER."""
    agreed = connection.cipher()
    if agreed is None or (agreed[1], agreed[0]) != (VERSION, CIPHER):
        raise CipherError(
            f"the two ends agreed on {agreed}, and {VERSION} with {CIPHER} is measured: this "
            "host's OpenSSL prefers another cipher (openssl.cnf, Ciphersuites)"
        )


def _pinned(protocol: int) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    return context
