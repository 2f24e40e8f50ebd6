"""What a server starts for a client, and what it refuses because this host cannot run it."""

from __future__ import annotations

import msgspec
import pytest
from tests.hosts.test_control_traffic import SEND
from tests.hosts.test_tokens import rr_order

from tinygram_bench.far.programs import Here, RefusedError, program
from tinygram_bench.host.network.connections import Known
from tinygram_bench.tls.kernel import kernel_tls_refusal
from tinygram_bench.ways import rows
from tinygram_bench.workloads.rr import order as rr
from tinygram_bench.workloads.rr import serving
from tinygram_bench.workloads.stream.order import Order

HERE = Here("127.0.0.1", Known(), (3,), max_connections=10)


def ordered(name: str, order: object) -> object:
    return program(f"tinygram_bench.workloads.{name}").order(msgspec.json.encode(order), HERE)


def test_a_sender_whose_kernel_encrypts_is_one_of_those_with_tls() -> None:
    asked = SEND | {"runtime": "loop", "implementation": "kernel-tls"}
    with pytest.raises(RefusedError, match=r"^no nodelay on loop by kernel-tls$"):
        ordered("stream.sender", asked)
    refusal = kernel_tls_refusal()
    if refusal is None:
        order = ordered("stream.sender", asked | {"certificate": "its text"})
        assert isinstance(order, Order)
    else:
        with pytest.raises(RefusedError) as refused:
            ordered("stream.sender", asked | {"certificate": "its text"})
        assert str(refused.value) == f"loop cannot run on this server: {refusal}"


def test_a_sender_is_refused_over_tls_where_it_cannot_encrypt() -> None:
    for changes in (
        {"implementation": "tinygram"},
        {"strategy": ["more"]},
        {"runtime": "asyncio", "connections": 2},
    ):
        asked = SEND | changes
        assert isinstance(ordered("stream.sender", asked), Order)
        with pytest.raises(RefusedError, match=r"^no \w+ on \w+ by \w+$"):
            ordered("stream.sender", asked | {"certificate": "its text"})


def test_a_server_that_needs_a_package_is_refused_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rows, "missing", lambda _: None)
    assert isinstance(ordered("rr.server", rr_order("uvloop")), rr.ServerOrder)
    monkeypatch.setattr(rows, "missing", lambda packages: f"{packages[0]} is not installed")
    with pytest.raises(RefusedError) as refused:
        ordered("rr.server", rr_order("uvloop"))
    assert str(refused.value) == "uvloop cannot run on this server: uvloop is not installed"


def test_a_server_that_does_not_encrypt_is_refused_over_tls() -> None:
    (native,) = (name for name, server in serving.SERVERS.items() if not server.has_tls)
    asked = rr_order(native)
    assert isinstance(ordered("rr.server", asked), rr.ServerOrder)
    over_tls = asked | {"tls": {"certificate": "", "key": ""}}
    with pytest.raises(RefusedError, match=r"^a server on native does not encrypt$"):
        ordered("rr.server", over_tls)
