"""Real libraries, on stock loops and on ours. `-k tinygram`, `-k stock-uvloop` choose some."""

from __future__ import annotations

import faulthandler
import shutil
from collections.abc import Iterator

import pytest
from tests.real.certificate import Certificate, make_certificate
from tests.real.loops import NAMES, Programs
from tests.real.redis_server import RedisServer, has_redis_server, redis_server

_HANGS_S = 90


@pytest.fixture(autouse=True)
def _no_test_hangs() -> Iterator[None]:
    """A loop that turns or sleeps for ever honours no timeout: its stack is shown, and all ends."""
    faulthandler.dump_traceback_later(_HANGS_S, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(params=NAMES)
def run(request: pytest.FixtureRequest) -> Programs:
    """Runs a coroutine function on each kind of loop."""
    return Programs(request.param)


@pytest.fixture(params=["adaptive", "tick"])
def run_by(run: Programs, request: pytest.FixtureRequest) -> Programs:
    """The same by each of the strategies that a program may be joined by."""
    return run.ticking() if request.param == "tick" else run


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """One for all tests."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing: apt-get install openssl")
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(params=["plain", "tls"])
def is_secure(request: pytest.FixtureRequest) -> bool:
    """Whether the test runs over TLS."""
    return bool(request.param == "tls")


@pytest.fixture(scope="session")
def redis_of_all(
    tmp_path_factory: pytest.TempPathFactory, certificate: Certificate
) -> Iterator[RedisServer]:
    """One process for all tests."""
    if not has_redis_server():
        pytest.skip("redis-server is missing: apt-get install redis-server")
    with redis_server(tmp_path_factory.mktemp("redis"), certificate) as server:
        yield server


@pytest.fixture
def redis(redis_of_all: RedisServer) -> RedisServer:
    """An empty server, with a TLS port too."""
    redis_of_all.tell("CLIENT UNPAUSE")
    redis_of_all.tell("FLUSHALL")
    return redis_of_all
