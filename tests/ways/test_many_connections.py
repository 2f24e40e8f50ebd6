"""`stream --connections`: every way, end to end, and what is refused."""

from __future__ import annotations

import resource
import select
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Done, Refused, run_once
from tests.support.plans.stream import planned

from tinygram_bench import _native
from tinygram_bench.loads.source import message_pool
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.ways import runtimes

CONNECTIONS = 300
"""More than a byte tells."""
MOST = 10_000
MESSAGES = 3_000
FLAT_OUT = ("--lone", "--messages", MESSAGES)
IN_SLICES = (
    *("--rate", 3_000, "--burst", 5, "--duration", "200ms"),
    *("--strategy", "nodelay", "--strategy", "adaptive"),
)
WAYS = [
    f"{known.name}/{known.implementation}/{text}"
    for known in runtimes.ON_MANY
    if known.missing() is None
    for text in known.strategies
]
EACH = {
    "flat_out": WAYS,
    # What takes turns is the runtime, and not the strategy.
    "in_slices": [way for way in WAYS if way.rpartition("/")[2] in IN_SLICES],
}


@pytest.fixture(scope="module")
def flat_out(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return measured(tmp_path_factory, *FLAT_OUT)


@pytest.fixture(scope="module")
def in_slices(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return measured(tmp_path_factory, *IN_SLICES)


def measured(tmp_path_factory: pytest.TempPathFactory, *load: object) -> Done:
    asked = ("--connections", CONNECTIONS, "--all", "--rounds", 1, *load)
    return run_once(tmp_path_factory.mktemp("many"), "stream", *asked)


@pytest.mark.parametrize("load", EACH)
def test_every_message_of_every_way_comes_on_its_connection(load: str, request: Any) -> None:
    done: Done = request.getfixturevalue(load)
    assert done.code == 0, done.stderr
    assert {case["connections"] for case in done.result["plan"]["cases"]} == {CONNECTIONS}
    assert len(done.runs) == len(EACH[load])
    for way in EACH[load]:
        run = done.run_of(f"stream/{way}/")
        assert run["failure"] is None
        counters = run["counters"]
        assert counters["messages"] == (MESSAGES if load == "flat_out" else 600)
        if "/io_uring/" in way:
            # A call of io_uring hands over all that is at hand: flat out 64 messages, else the five
            # that are due at once. Half: a message may be taken in parts, by a call each.
            assert 0 < counters["writes"] < counters["messages"] / 2
        else:
            assert counters["written_bytes"] == counters["bytes"]
        if way in ("asyncio/stdlib/nodelay", "native/tinygram/nodelay"):
            assert counters["writes"] == counters["messages"]
    assert f"{CONNECTIONS} connections" in done.stdout


def test_ten_thousand_connections_of_one_process_are_received(tmp_path: Path) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < MOST + 100:
        pytest.skip(f"a process may have {most} descriptors here, and this needs {MOST + 100}")
    ways = [way for way in WAYS if way.startswith("native/") and way.endswith("/nodelay")]
    done = run_once(
        *(tmp_path, "stream", "--connections", MOST, "--size", 100, "--messages", 2 * MOST),
        *(word for way in ways for word in ("--only", way)),
        *("--rounds", 1, "--lone"),
    )
    assert done.code == 0, done.stderr
    assert len(done.runs) == len(ways) > 0
    for way in ways:
        counters = done.run_of(f"stream/{way}/")["counters"]
        assert counters["messages"] == 2 * MOST
        assert counters["bytes"] == 200 * MOST


def test_flat_out_in_slices_a_stream_ends_with_them_on_all_connections(tmp_path: Path) -> None:
    done = run_once(
        # Long enough that a busy host does not keep a way from all of its slices.
        *(tmp_path, "stream", "--connections", 3, "--duration", "400ms", "--rounds", 1),
        *("--strategy", "nodelay"),
    )
    assert [run["failure"] for run in done.runs] == [None] * len(done.runs)
    assert all(done.counters_of(index)["messages"] > 0 for index in range(len(done.runs)))


def test_large_messages_wait_for_the_receiver(tmp_path: Path) -> None:
    """A burst of 64 is many times what may wait in memory."""
    done = run_once(
        *(tmp_path, "stream", "--connections", 2, "--size", "10MiB", "--messages", 20, "--lone"),
        *("--strategy", "nodelay", "--rounds", 1),
    )
    assert [run["failure"] for run in done.runs] == [None] * len(done.runs)
    assert {case["runtime"] for case in done.result["plan"]["cases"]} >= {"asyncio", "native"}


def test_each_connection_has_a_message_in_the_warm_up() -> None:
    cases = planned("runtime=asyncio", connections=(1, 5_000)).cases
    warm_ups = {case.connections: StreamParameters.of(case).warm_up_messages for case in cases}
    assert warm_ups[5_000] == 5_000 > warm_ups[1]
    assert len({case.case_id for case in cases}) == len(cases)


def test_a_native_sender_names_the_connection_that_is_gone() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        near = [socket.create_connection(listener.getsockname()) for _ in range(2)]
        far = [listener.accept()[0] for _ in range(2)]
        pool = message_pool(1, 1, 50, connections=2)
        sender = _native.ManyConnections([each.fileno() for each in near], False, pool, 10**9)
        sender.send_flat_out(0, 10)
        # Bytes that were not read make the end a reset.
        far[1].close()
        coming = select.poll()
        coming.register(near[1], 0)
        assert coming.poll(60_000), "the reset has not come"
        with pytest.raises(OSError, match="receiver 1 has ended its connection"):
            sender.send_flat_out(10, 10_000)
        for each in (*near, far[0]):
            each.close()


REFUSED = [
    (("--connections", "0"), ("--connections 0", "1 … 10000")),
    (("--connections", "10001"), ("--connections 10001", "1 … 10000")),
    (("--connections", "5", "--tls"), ("--connections 5", "--tls")),
    (("--connections", "5", "--producers", "2"), ("--connections 5", "--producers")),
    (("--connections", "5", "--probe", "10ms"), ("--connections 5", "--probe")),
    (("--connections", "5", "--runtime", "threads"), ("runtime=threads on 5 connections",)),
    (("--connections", "9000", "--size", "1MiB"), ("256 MiB", "fewer connections")),
]


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_one_line_names_the_value_and_the_remedy(
    words: tuple[str, ...], said: tuple[str, ...], refused: Refused
) -> None:
    refused(("stream", *words), said)


def test_more_connections_than_descriptors_are_refused_with_the_limit(
    refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    refused(
        ("stream", "--connections", "1000"),
        ("--connections 1000 needs 2100 descriptors", "RLIMIT_NOFILE", "ulimit -Hn 2100"),
    )
