"""The key that the kernel is given is the one by which the other end decrypts."""

from __future__ import annotations

import os
import ssl

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tinygram_bench.tls import in_kernel
from tinygram_bench.tls.certificates import SERVER_NAME, new_identity
from tinygram_bench.tls.contexts import client_context, server_context
from tinygram_bench.tls.decrypting import Decrypting

APPLICATION_DATA = 23


def encrypted(plain: bytes, key: bytes, iv: bytes, number: int) -> bytes:
    """A record of application data (RFC 8446, 5.2 and 5.3)."""
    inner = plain + bytes([APPLICATION_DATA])
    header = bytes([APPLICATION_DATA, 3, 3]) + (len(inner) + 16).to_bytes(2, "big")
    nonce = (int.from_bytes(iv, "big") ^ number).to_bytes(len(iv), "big")
    return header + AESGCM(key).encrypt(nonce, inner, header)


def test_records_by_the_key_of_the_key_log_are_the_clients() -> None:
    identity = new_identity()
    server = Decrypting(server_context(identity))
    context = client_context(identity.certificate)
    log = os.memfd_create("key-log")
    try:
        context.keylog_filename = f"/proc/self/fd/{log}"
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = context.wrap_bio(incoming, outgoing, server_hostname=SERVER_NAME)
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        server.push(outgoing.read())
        incoming.write(server.answer())
        client.do_handshake()
        server.push(outgoing.read())
        secret = in_kernel._secret_in(os.pread(log, 1 << 16, 0).decode())
    finally:
        os.close(log)
    key, iv = in_kernel._key_and_iv(secret)
    for number, plain in enumerate((b"first", b"second")):
        assert server.push(encrypted(plain, key, iv, number)).records == [plain]


def test_the_kernel_is_told_the_key_as_linux_has_it() -> None:
    key, iv = bytes(range(32)), bytes(range(100, 112))
    told = in_kernel._info(key, iv)
    # version, cipher, the nonce's last eight bytes, the key, its first four, no record yet.
    assert told == b"\x04\x03\x34\x00" + iv[4:] + key + iv[:4] + bytes(8)
    assert len(told) == 56
