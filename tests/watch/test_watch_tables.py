"""What a snapshot looks like: units in the columns' names, and nothing shown that is not known."""

from __future__ import annotations

import io
from typing import Any

import msgspec
from rich.console import Console

from tinygram_bench.host.probes.sockets import Connection, Listener, Owner, Snapshot
from tinygram_bench.report.table import Pen
from tinygram_bench.watch.tables import tables_of


def connection(remote_port: int, **known: Any) -> Connection:
    """From port 80 to that one, with nothing else known."""
    told: dict[str, Any] = dict.fromkeys(Connection.__struct_fields__)
    told |= {
        "local": "127.0.0.1:80",
        "remote": f"127.0.0.1:{remote_port}",
        "state": "ESTABLISHED",
        "user_id": 0,
        "inode": remote_port,
        "receive_queue_bytes": 0,
    }
    return Connection(**(told | known))


def listener(**known: Any) -> Listener:
    told: dict[str, Any] = {
        "local": "0.0.0.0:80",
        "user_id": 0,
        "inode": 1,
        "accept_queue_connections": 1,
        "backlog_connections": 5,
        "half_open_connections": 2,
    }
    return Listener(**(told | known))


def snapshot(
    connections: list[Connection] | None = None,
    listeners: list[Listener] | None = None,
    **known: Any,
) -> Snapshot:
    return Snapshot(0, "sock_diag", tuple(connections or ()), tuple(listeners or ()), **known)


def printed(shown: Snapshot, most_rows: int | None = None) -> list[str]:
    output = io.StringIO()
    pen = Pen(Console(file=output, width=300))
    for table in tables_of(shown, most_rows):
        pen.draw(table)
    return output.getvalue().splitlines()


def test_every_column_that_has_a_unit_says_it() -> None:
    (table,) = tables_of(snapshot([connection(1)]))
    assert [column.name for column in table.columns] == [
        "connection",
        "process",
        "state",
        "send queue bytes",
        "unsent bytes",
        "unacked bytes",
        "receive queue bytes",
        "cwnd segments",
        "rtt µs",
        "delivery MB/s",
        "segments sent again",
        "data segments sent",
        "bytes /segment",
        "timer ms",
        "nodelay",
        "cork",
    ]


def test_what_is_known_is_shown_and_the_rest_is_a_dash() -> None:
    full = connection(
        1,
        send_queue_bytes=12_000,
        unsent_bytes=2_000,
        unacknowledged_bytes=10_000,
        receive_queue_bytes=7,
        cwnd_segments=10,
        rtt_us=52,
        delivery_rate_bytes_per_s=4_050_000,
        retransmits=3,
        data_segments_sent=4,
        sent_bytes=1_000,
        timer="retransmission",
        timer_expires_ms=204,
        owner=Owner(42, "server", 3),
        is_nodelay=True,
        is_corked=False,
    )
    shown = tables_of(snapshot([full, connection(2)]))[0].rows
    assert shown[0].cells == (
        *("127.0.0.1:80 -> 127.0.0.1:1", "server 42", "ESTABLISHED"),
        *("12,000", "2,000", "10,000", "7", "10", "52", "4.05", "3", "4", "250"),
        *("retransmission 204", "yes", "no"),
    )
    assert set(shown[1].cells[3:]) == {"–", "0"}


def test_the_fullest_come_first_and_what_is_left_out_is_counted() -> None:
    connections = [
        connection(1, send_queue_bytes=1),
        connection(2, receive_queue_bytes=5),
        connection(3, send_queue_bytes=9),
    ]
    (table,) = tables_of(snapshot(connections, left_out=10), most_rows=2)
    assert [row.cells[0][-1] for row in table.rows] == ["3", "2"]
    assert table.notes == ("11 more: --once --json lists as many as 16,384",)
    assert len(tables_of(snapshot(connections), most_rows=-3)[0].rows) == 1


def test_a_full_accept_queue_is_explained() -> None:
    busy = listener(accept_queue_connections=6, half_open_connections=4)
    lines = printed(snapshot(listeners=[listener(local="127.0.0.1:81"), busy]))
    assert lines[1] == "Listeners"
    assert "accept queue" in lines[2]
    assert lines[5].split() == ["0.0.0.0:80", "-", "6", "5", "4"]
    assert lines[7].startswith("0.0.0.0:80: the accept queue is full: ")
    assert len(lines) == 8


def test_nothing_is_no_table() -> None:
    assert tables_of(snapshot()) == ()


def test_a_snapshot_is_json_and_comes_back() -> None:
    shown = snapshot([connection(1, owner=Owner(1, "a", 2))], [listener()], notes=("why",))
    assert msgspec.json.decode(msgspec.json.encode(shown), type=Snapshot) == shown
