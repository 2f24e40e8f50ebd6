"""A redis-server of one's own: on free loopback ports, in a given folder, gone with its user."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.certificate import Certificate

from tinygram_bench.processes.workers import RunError, Worker

_START_S = 30.0
_ATTEMPTS = 3
_STEP_S = 0.01
_ATTACHED = (sys.executable, "-m", "tinygram_bench.processes.attached")


@dataclass(frozen=True)
class RedisServer:
    """Where it listens, on 127.0.0.1; `tls_port` is None where it was given no certificate."""

    port: int
    tls_port: int | None

    def tell(self, command: str) -> str:
        """One command on a connection of its own; the start of the answer. Raises OSError."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as sock:
            sock.sendall(f"{command}\r\n".encode())
            return sock.recv(64).decode()


def has_redis_server() -> bool:
    """Whether a redis-server is installed."""
    return shutil.which("redis-server") is not None


@contextmanager
def redis_server(folder: Path, certificate: Certificate | None = None) -> Iterator[RedisServer]:
    """A server that keeps nothing on disk and at most 64 MB in memory; RunError if it won't start.

    A free port can be taken by somebody else before the server binds it: then another is tried.
    """
    with ExitStack() as stack:
        for attempt in range(1, _ATTEMPTS + 1):
            server = RedisServer(_free_port(), _free_port() if certificate else None)
            worker = stack.enter_context(_started(server, folder, certificate))
            try:
                _wait_answering(worker, server)
                break
            except RunError:
                if attempt == _ATTEMPTS:
                    raise
        yield server


def _started(server: RedisServer, folder: Path, certificate: Certificate | None) -> Worker:
    options: dict[str, object] = {
        "bind": "127.0.0.1",
        "port": server.port,
        "dir": folder,
        "save": "",
        "appendonly": "no",
        "maxmemory": "64mb",
    }
    if certificate is not None and server.tls_port is not None:
        options |= {
            "tls-port": server.tls_port,
            "tls-cert-file": certificate.chain,
            "tls-key-file": certificate.key,
            "tls-auth-clients": "no",
        }
    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    return Worker("redis-server", [*_ATTACHED, str(os.getpid()), "redis-server", *words])


def _wait_answering(worker: Worker, server: RedisServer) -> None:
    give_up_s = time.monotonic() + _START_S
    while not worker.wait_ended(_STEP_S):
        try:
            if server.tell("PING").startswith("+PONG"):
                return
        except OSError:
            pass
        if time.monotonic() > give_up_s:
            break
    said = worker.output.decode(errors="replace").strip()[-500:]
    raise RunError(f"redis-server did not answer on port {server.port} in {_START_S} s: {said}")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
