"""Errors of the kernel reach Python as its own do: with errno, and of the right class."""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Callable

import pytest

import tinygram
from tinygram_bench import _native

CLOSED_FD = 1 << 20
NOBODY = 65_534


@pytest.mark.parametrize(
    "call",
    [_native.tcp_info, _native.send_queue_bytes, _native.enter_network_namespace],
)
def test_a_closed_descriptor_is_ebadf(call: Callable[[int], object]) -> None:
    with pytest.raises(OSError, match=r"^\[Errno 9\] Bad file descriptor$") as raised:
        call(CLOSED_FD)
    assert raised.value.errno == errno.EBADF
    assert raised.value.strerror == os.strerror(errno.EBADF)


def test_a_reset_connection_is_a_connection_reset_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        out = tinygram.batch(client, strategy=tinygram.nodelay)
        server.close()
        # A busy kernel may take a while to bring it over.
        coming = select.poll()
        coming.register(client, 0)
        assert coming.poll(60_000)
        with client, pytest.raises(ConnectionResetError) as raised:
            out.send(b"x")
    assert raised.value.errno == errno.ECONNRESET


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_without_the_right_to_make_a_network_the_hosts_is_used() -> None:
    program = (
        "import os; from tinygram_bench.host.network import private_network\n"
        f"os.setresgid({NOBODY}, {NOBODY}, {NOBODY}); os.setresuid({NOBODY}, {NOBODY}, {NOBODY})\n"
        "with private_network() as network: print(network.is_private)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.stdout, done.stderr) == ("False\n", "")
