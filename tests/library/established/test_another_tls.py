"""A Python whose TLS has other names: the library is imported, and leaves it as it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import asyncio.sslproto as sslproto
{without}
import tinygram.aio.transport as transport
below = object()
assert transport.established(below) is below
print("left as it is")
"""


@pytest.mark.parametrize(
    "without",
    [
        "del sslproto.SSLAgainErrors",
        "del sslproto.SSLProtocol",
        "del sslproto.SSLProtocolState",
        "",
    ],
)
def test_the_library_is_imported_without_a_name_of_asyncio_s_tls(without: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(without=without)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("left as it is\n", 0), done.stderr


_ENCRYPTION = """
import ssl, sys, _ssl
{change}
from tinygram import _native
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
made = context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO())
class Below:
    _sock_fd = 0
print(_native.StraightTls.of(Below(), Below(), made._sslobj, None) is not None)
"""


@pytest.mark.parametrize(
    ("change", "is_taken"),
    [
        ("", True),
        ("del _ssl.__file__", False),
        ("_ssl.__file__ = '/nowhere/_ssl.so'", False),
        ("_ssl.__file__ = _ssl.__file__ + chr(0)", False),
        ("import tinygram._native as other; _ssl.__file__ = other.__file__", False),
        ("sys.hexversion = 0x030e00f0", False),
    ],
    ids=["as it is", "part of the interpreter", "not loaded", "no name", "no OpenSSL", "later"],
)
def test_openssl_is_called_only_where_it_is_found(change: str, is_taken: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ENCRYPTION.format(change=change)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == (f"{is_taken}\n", 0), done.stderr
