"""Every test of this folder is a coroutine that runs on each of the four loops."""

from __future__ import annotations

import asyncio
import gc
import inspect
import ssl
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.library.conformance.channels import Channel, Contexts
from tests.library.conformance.loops import LOOPS, Loop, Trouble, run


@pytest.fixture(autouse=True, scope="package", params=LOOPS, ids=lambda loop: loop.name)
def loop(request: pytest.FixtureRequest) -> Loop:
    """A loop, in a process in which a test's own leftovers can be told apart.

    What a loop opens once in a process, and keeps, is open before the first test. What is
    no test's is not looked at each time by the collector.
    """
    chosen: Loop = request.param
    with asyncio.Runner(loop_factory=chosen.make) as runner:
        runner.run(asyncio.sleep(0))
    gc.collect()
    gc.freeze()
    return chosen


@pytest.fixture(autouse=True)
def trouble() -> Trouble:
    return Trouble()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    fixtures: dict[str, Any] = pyfuncitem.funcargs
    wanted = {name: fixtures[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    run(fixtures["loop"], partial(pyfuncitem.obj, **wanted), fixtures["trouble"])
    return True


@pytest.fixture(scope="session")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> Contexts:
    """A server that nobody but this client trusts, for as long as the tests run."""
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        # An elliptic curve, because its keys are made at once.
        [
            *("openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificate, key)
    return Contexts(ssl.create_default_context(cafile=certificate), server)


ALL = ["tcp-client", "tcp-accepted", "unix-client", "unix-accepted", "tls-client", "tls-accepted"]


def channel_of(request: pytest.FixtureRequest, contexts: Contexts, folder: Path) -> Channel:
    kind, _, end = request.param.partition("-")
    return Channel(kind, end == "accepted", contexts, folder)


@pytest.fixture(params=ALL)
def every(request: pytest.FixtureRequest, contexts: Contexts, tmp_path: Path) -> Channel:
    """Every kind of connection, either end."""
    return channel_of(request, contexts, tmp_path)


@pytest.fixture(params=["tcp-client", "unix-accepted", "tls-client", "tls-accepted"])
def channel(request: pytest.FixtureRequest, contexts: Contexts, tmp_path: Path) -> Channel:
    """Every kind of connection, and both ends of the one whose ends differ most."""
    return channel_of(request, contexts, tmp_path)


@pytest.fixture(params=["tcp-client", "tcp-accepted", "unix-accepted"])
def plain(request: pytest.FixtureRequest, contexts: Contexts, tmp_path: Path) -> Channel:
    """Those whose bytes are the socket's, and which can be closed by halves."""
    return channel_of(request, contexts, tmp_path)


@pytest.fixture(params=["tls-client", "tls-accepted"])
def tls(request: pytest.FixtureRequest, contexts: Contexts, tmp_path: Path) -> Channel:
    return channel_of(request, contexts, tmp_path)
