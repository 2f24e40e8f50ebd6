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
