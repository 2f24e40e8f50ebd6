"""A client that is authenticated and means harm holds up nobody else, and has limits."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.hosts.far_server import (
    HELLO,
    LIMIT_S,
    LIMITS,
    all_of,
    answer_of,
    connected,
    far_server,
    line_of,
    named_child,
    welcomed,
)
from tests.hosts.test_control_traffic import BEGIN, tell

from tinygram_bench.far import limits as far_limits
from tinygram_bench.far.limits import (
    Moved,
    check,
    check_used,
    connections_within,
    end_above,
    moved_so_far,
)
from tinygram_bench.far.programs import RefusedError
from tinygram_bench.far.usage import InUse
from tinygram_bench.processes import children

MOST_BYTES = 64 << 20
HELD_UP_S = 15.0
"""Less than a process may take nothing of an order (processes/children.py)."""
LATE_S = 15.0
"""What a host that runs other tests may take longer; all bytes would take longer still."""


@pytest.fixture
def port() -> Iterator[int]:
    with far_server() as found:
        yield found


def sent_until_held_up(sock: socket.socket, line: bytes) -> int:
    """How many bytes of such lines are taken until no more are, MOST_BYTES at most.

    Who has taken nothing for so long may be given up meanwhile: the server ends the connection.
    """
    sock.settimeout(1.0)
    many, count = line * 1_000, 0
    try:
        while count < MOST_BYTES:
            count += sock.send(many)
    except (TimeoutError, ConnectionResetError):
        return count
    return count


def check_greets(port: int) -> None:
    with connected(port) as sock:
        sock.settimeout(HELD_UP_S)
        sock.sendall(line_of(HELLO))
        assert answer_of(sock)["type"] == "Queued"


def test_who_asks_and_does_not_listen_is_asked_nothing_more(port: int) -> None:
    with welcomed(port) as sock:
        assert sent_until_held_up(sock, line_of({"type": "AskUsed", "number": 7})) < MOST_BYTES
        check_greets(port)


def test_a_process_that_takes_no_orders_holds_up_its_client_alone(port: int) -> None:
    with welcomed(port) as sock:
        sock.sendall(line_of(BEGIN) + line_of(tell()))
        assert answer_of(sock)["type"] == "Said"  # It listens, and reads no more orders.
        assert sent_until_held_up(sock, line_of(tell())) < MOST_BYTES
        check_greets(port)


def test_a_process_that_takes_no_orders_ends_its_client(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "_TAKES_ORDER_S", 0.5)
    monkeypatch.setattr(children, "_GRACE_S", 0.5)
    with welcomed(port) as sock:
        sock.sendall(line_of(BEGIN) + line_of(tell()))
        assert answer_of(sock)["type"] == "Said"
        sent_until_held_up(sock, line_of(tell()))
        sock.settimeout(HELD_UP_S + LATE_S)
        while (answer := answer_of(sock))["type"] != "Refused":
            pass
        assert "takes no order" in str(answer["reason"])


def test_dismissals_of_one_process_are_one(port: int) -> None:
    with welcomed(port) as sock:
        sock.sendall(line_of(BEGIN) + line_of({"type": "Dismiss", "number": 0}) * 50_000)
        while (answer := answer_of(sock))["type"] != "Ended":
            pass
        assert answer["failure"] is None
        sock.sendall(line_of({"type": "AskUsed", "number": 0}))
        assert answer_of(sock) == {"type": "Used", "number": 0, "cpu_ns": None}


def test_a_client_that_says_an_order_byte_by_byte_has_its_time_and_no_more() -> None:
    """It has its turn, and holds up those that wait for as long as --max-time says."""
    with far_server(limits=limits(time_s=1.0)) as port, welcomed(port) as slow:
        slow.settimeout(0.05)
        said, begun_s = b"", time.monotonic()
        for byte in line_of(BEGIN) + b" " * 400:
            try:
                slow.sendall(bytes([byte]))
                said += slow.recv(1 << 10)
            except TimeoutError:
                continue
            except OSError:
                break
            if b"\n" in said:
                break
        slow.settimeout(LIMIT_S)
        with suppress(OSError):
            said += all_of(slow)
        assert b"--max-time" in said
        assert time.monotonic() - begun_s < 1.0 + LATE_S
        welcomed(port).close()


def test_an_order_of_an_earlier_client_that_is_replayed_reaches_no_process(port: int) -> None:
    with welcomed(port) as sock:
        sock.sendall(line_of(BEGIN) + line_of(tell()))
        assert answer_of(sock)["type"] == "Said"
    with welcomed(port) as sock:
        sock.sendall(line_of(tell()))  # This client has not begun that process.
        sock.sendall(line_of({"type": "AskUsed", "number": 0}))
        assert answer_of(sock) == {"type": "Used", "number": 0, "cpu_ns": None}


def test_a_client_that_leaves_while_it_waits_gives_its_place_away(port: int) -> None:
    with welcomed(port):
        for _ in range(3):
            with connected(port) as waiting:
                waiting.sendall(line_of(HELLO))
                assert answer_of(waiting)["type"] == "Queued"
                with connected(port) as too_many:
                    too_many.sendall(line_of(HELLO))
                    assert b"--max-clients" in all_of(too_many)
                waiting.shutdown(socket.SHUT_WR)
                assert all_of(waiting) == b""


def test_more_processes_than_are_allowed_are_refused_by_the_name_of_the_option(port: int) -> None:
    with welcomed(port) as sock:
        for number in range(LIMITS.processes + 1):
            sock.sendall(line_of(BEGIN | {"number": number}))
        assert b"--max-processes" in all_of(sock)


def test_more_connections_than_are_allowed_are_refused_by_the_name_of_the_option(
    port: int,
) -> None:
    order = {
        "runtime": "threads",
        "implementation": "stdlib",
        "server": "recv",
        "strategy": ["nodelay"],
        "reply": "per-read",
        "message_bytes": 10,
        "buffer_bytes": 1_000,
        "fault": None,
        "connections": LIMITS.connections + 1,
        "congestion_control": "reno",
    }
    echo = BEGIN | {"program": "tinygram_bench.workloads.echo.server", "files": 0}
    with welcomed(port) as sock:
        sock.sendall(line_of(echo) + line_of({"type": "Tell", "number": 0, "order": order}))
        assert b"--max-connections" in all_of(sock)


def test_a_process_is_held_to_memory_files_and_connections_by_the_kernel(port: int) -> None:
    with welcomed(port) as sock:
        sock.sendall(line_of(BEGIN) + line_of(tell()))
        assert answer_of(sock)["type"] == "Said"
        (pid,) = named_child(os.getpid(), "tg-receiver")
        held = Path(f"/proc/{pid}/limits").read_text()
    rows = {row[:26].strip(): row[26:].split()[:2] for row in held.splitlines()}
    memory = str(LIMITS.memory_bytes // 2)
    assert rows["Max data size"] == [memory, memory]
    assert rows["Max file size"] == [memory, memory]
    assert int(rows["Max open files"][1]) < LIMITS.connections + 100


def test_processes_that_have_too_much_memory_together_end_their_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of them has less than one may have: it makes the messages that it is to compare."""
    monkeypatch.setattr(far_limits, "EVERY_S", 0.1)
    few = limits(memory_bytes=512 << 20)
    with far_server(limits=few) as port, welcomed(port) as sock:
        large = {"min_bytes": 32 << 20, "max_bytes": 32 << 20}
        for number in range(few.processes):
            with suppress(OSError):  # It has been refused before it had said all.
                sock.sendall(line_of(BEGIN | {"number": number}))
                sock.sendall(line_of(tell(**large) | {"number": number}))
        said = all_of(sock)
        assert b"--max-memory" in said
        assert b'"Ended"' not in said
        welcomed(port).close()
    assert named_child(os.getpid(), "tg-receiver") == []


def nothing_used() -> InUse:
    return InUse(0, 0)


async def _lost() -> None:
    raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")


async def _asleep() -> None:
    await asyncio.sleep(3_600)


def limits(**values: float) -> far_limits.Limits:
    return replace(LIMITS, **values)


def test_a_connection_that_times_out_is_not_taken_for_a_client_whose_time_is_up() -> None:
    with pytest.raises(TimeoutError):
        asyncio.run(end_above(LIMITS, _lost(), nothing_used))


def test_the_time_of_a_client_is_limited() -> None:
    with pytest.raises(RefusedError, match="--max-time"):
        asyncio.run(end_above(limits(time_s=0.01), _asleep(), nothing_used))


def test_bytes_and_rate_of_a_client_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    check(LIMITS, LIMITS.bytes, LIMITS.rate_bytes_per_s)
    with pytest.raises(RefusedError, match="--max-bytes"):
        check(LIMITS, LIMITS.bytes + 1, 0)
    with pytest.raises(RefusedError, match="--max-rate"):
        check(LIMITS, 0, LIMITS.rate_bytes_per_s + 1)
    monkeypatch.setattr(far_limits, "EVERY_S", 0.01)
    ahead = 1 << 50
    for grows in (lambda now: Moved(now, ahead), lambda now: Moved(ahead, now)):
        moved = map(grows, range(0, 1 << 40, 1 << 20))
        monkeypatch.setattr(far_limits, "moved_so_far", moved.__next__)
        few = limits(bytes=10 << 20, time_s=LIMIT_S)
        with pytest.raises(RefusedError, match="--max-bytes"):
            asyncio.run(end_above(few, _asleep(), nothing_used))


@pytest.mark.parametrize(
    ("used", "option"),
    [
        (InUse(LIMITS.memory_bytes + 1, 0), "--max-memory"),
        (InUse(0, LIMITS.connections + 1), "--max-connections"),
    ],
)
def test_what_all_processes_of_a_client_have_together_is_limited(
    used: InUse, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_used(LIMITS, InUse(LIMITS.memory_bytes, LIMITS.connections))
    monkeypatch.setattr(far_limits, "EVERY_S", 0.01)
    with pytest.raises(RefusedError, match=option):
        asyncio.run(end_above(limits(time_s=LIMIT_S), _asleep(), lambda: used))


@pytest.mark.parametrize(
    ("hard", "most"), [(resource.RLIM_INFINITY, 1_000), (100_000, 1_000), (100, 36)]
)
def test_no_more_connections_are_promised_than_the_system_gives_descriptors(
    hard: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, hard))
    assert connections_within(1_000) == most


def test_what_goes_through_this_host_is_counted() -> None:
    before = moved_so_far()
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as near,
        listener.accept()[0] as far,
    ):
        near.sendall(b"x" * 100_000)
        assert len(far.recv(100_000, socket.MSG_WAITALL)) == 100_000
    assert moved_so_far().since(before) >= 100_000


def test_both_ip_versions_are_counted(tmp_path: Path) -> None:
    (tmp_path / "netstat").write_text(
        "TcpExt: A B\nTcpExt: 1 2\nIpExt: InOctets OutOctets\nIpExt: 10 300\n"
    )
    assert moved_so_far(tmp_path) == (10, 300)
    (tmp_path / "snmp6").write_text("Ip6InOctets 1000\nIp6OutOctets 5\n")
    assert moved_so_far(tmp_path) == (1010, 305)
