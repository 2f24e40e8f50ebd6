"""Gives the sending half of an encrypted connection to the kernel.

OpenSSL makes the handshake; the kernel then gets the sending key, and makes records of each write
(Documentation/networking/tls.rst in Linux). OpenSSL could hand the key over itself
(SSL_OP_ENABLE_KTLS), but Debian builds it without that; so `cryptography` makes the key here from
the secret that the ssl module logs (RFC 8446, 7.1 and 7.3).
"""

from __future__ import annotations

import os
import socket
import ssl
import struct

from tinygram_bench.tls.contexts import CIPHER, check_agreed
from tinygram_bench.tls.kernel import TCP_ULP

_SOL_TLS = 282
_TLS_TX = 1
_VERSION_1_3 = 0x0304
_AES_GCM_256 = 52
"""TLS_CIPHER_AES_GCM_256 of linux/tls.h."""
_KEY_BYTES, _IV_BYTES, _SALT_BYTES = 32, 12, 4
_NO_RECORD_YET = bytes(8)
_SECRET = "CLIENT_TRAFFIC_SECRET_0"
"""The name in a key log (draft-ietf-tls-keylogfile) of the secret for what the client sends."""


def connected(sock: socket.socket, context: ssl.SSLContext, server_name: str) -> socket.socket:
    """Make the handshake; return a socket whose writes the kernel encrypts, in place of `sock`.

    Incoming bytes stay encrypted. Raises OSError, also where the two ends agree on another cipher,
    or the kernel does not take the key.
    """
    log = os.memfd_create("key-log")
    try:
        context.keylog_filename = f"/proc/self/fd/{log}"
        wrapped = context.wrap_socket(sock, server_hostname=server_name)
        try:
            check_agreed(wrapped)
            key, iv = _key_and_iv(_secret_in(os.pread(log, os.fstat(log).st_size, 0).decode()))
        except BaseException:
            wrapped.close()
            raise
    finally:
        context.keylog_filename = os.devnull  # The context has the file open, too.
        os.close(log)
    ours = socket.socket(fileno=wrapped.detach())
    try:
        ours.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"tls")
        ours.setsockopt(_SOL_TLS, _TLS_TX, _info(key, iv))
    except OSError as error:
        ours.close()
        # For example ENOENT, where the kernel module of the cipher is missing.
        raise OSError(f"the kernel does not take {CIPHER}: {error.strerror}") from error
    return ours


def _info(key: bytes, iv: bytes) -> bytes:
    """struct tls12_crypto_info_aes_gcm_256, which has the nonce in two parts, also for TLS 1.3."""
    head = struct.pack("=HH", _VERSION_1_3, _AES_GCM_256)
    return head + iv[_SALT_BYTES:] + key + iv[:_SALT_BYTES] + _NO_RECORD_YET


def _secret_in(log: str) -> bytes:
    """The client's secret of the only connection in the log."""
    (secret,) = (line.split()[2] for line in log.splitlines() if line.startswith(f"{_SECRET} "))
    return bytes.fromhex(secret)


def _key_and_iv(secret: bytes) -> tuple[bytes, bytes]:
    """The key and the nonce of records, made from a traffic secret (RFC 8446, 7.3)."""
    return _expanded(secret, b"key", _KEY_BYTES), _expanded(secret, b"iv", _IV_BYTES)


def _expanded(secret: bytes, label: bytes, length: int) -> bytes:
    """HKDF-Expand-Label without a context (RFC 8446, 7.1), by the hash of the cipher."""
    from cryptography.hazmat.primitives.hashes import SHA384
    from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

    label = b"tls13 " + label
    info = struct.pack(">HB", length, len(label)) + label + bytes(1)
    return HKDFExpand(SHA384(), length, info).derive(secret)
