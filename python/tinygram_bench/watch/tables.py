"""A snapshot as tables: a row for each connection and listener, units in the columns' names."""

from __future__ import annotations

from tinygram_bench.host.probes.sockets import Connection, Listener, Owner, Snapshot
from tinygram_bench.report.numbers import UNKNOWN, number
from tinygram_bench.report.table import Column, Shown, Table, table_of


def _whole(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def _answer(value: bool | None) -> str:
    return UNKNOWN if value is None else "yes" if value else "no"


def _process(owner: Owner | None) -> str:
    return UNKNOWN if owner is None else f"{owner.name} {owner.pid}"


def _megabytes(value: int | None) -> str:
    return number(None if value is None else value / 1e6)


def _timer(connection: Connection) -> str:
    if connection.timer is None:
        return UNKNOWN
    return f"{connection.timer} {_whole(connection.timer_expires_ms)}"


CONNECTION: tuple[Shown[Connection], ...] = (
    Shown(Column("connection"), lambda each: f"{each.local} -> {each.remote}"),
    Shown(Column("process", 9), lambda each: _process(each.owner)),
    Shown(Column("state", 5), lambda each: each.state),
    Shown(Column("send\nqueue\nbytes"), lambda each: _whole(each.send_queue_bytes)),
    Shown(Column("unsent\nbytes", 2), lambda each: _whole(each.unsent_bytes)),
    Shown(Column("unacked\nbytes", 3), lambda each: _whole(each.unacknowledged_bytes)),
    Shown(Column("receive\nqueue\nbytes"), lambda each: _whole(each.receive_queue_bytes)),
    Shown(Column("cwnd\nsegments", 4), lambda each: _whole(each.cwnd_segments)),
    Shown(Column("rtt\nµs", 1), lambda each: _whole(each.rtt_us)),
    Shown(Column("delivery\nMB/s", 6), lambda each: _megabytes(each.delivery_rate_bytes_per_s)),
    Shown(Column("segments\nsent\nagain", 7), lambda each: _whole(each.retransmits)),
    Shown(Column("data\nsegments\nsent", 8), lambda each: _whole(each.data_segments_sent)),
    Shown(Column("bytes\n/segment", 1), lambda each: number(each.bytes_per_segment)),
    Shown(Column("timer\nms", 10), _timer),
    Shown(Column("nodelay", 5), lambda each: _answer(each.is_nodelay)),
    Shown(Column("cork", 11), lambda each: _answer(each.is_corked)),
)
LISTENER: tuple[Shown[Listener], ...] = (
    Shown(Column("listener"), lambda each: each.local),
    Shown(Column("process", 1), lambda each: _process(each.owner)),
    Shown(Column("accept queue\nconnections"), lambda each: _whole(each.accept_queue_connections)),
    Shown(Column("backlog\nconnections"), lambda each: _whole(each.backlog_connections)),
    Shown(Column("half open\nconnections"), lambda each: _whole(each.half_open_connections)),
)


def tables_of(snapshot: Snapshot, most_rows: int | None = None) -> tuple[Table, ...]:
    """Tables of listeners, which are few, and of connections, the fullest queues first.

    There are at most `most_rows` connections; a note tells how many more there are.
    """
    tables = []
    listeners = sorted(snapshot.listeners, key=lambda each: (each.local, each.inode))
    if listeners:
        notes = tuple(
            f"{each.local}: the accept queue is full: who connects now waits a second or more, "
            "until its SYN is sent again"
            for each in listeners
            if each.is_full
        )
        tables.append(table_of("Listeners", LISTENER, listeners, notes))
    if snapshot.connections:
        fullest = sorted(snapshot.connections, key=_emptiness)
        shown = fullest if most_rows is None else fullest[: max(1, most_rows)]
        left_out = len(fullest) - len(shown) + snapshot.left_out
        notes = (f"{left_out:,} more: --once --json lists as many as 16,384",) if left_out else ()
        tables.append(table_of("Connections", CONNECTION, shown, notes))
    return tuple(tables)


def _emptiness(connection: Connection) -> tuple[int, str, str]:
    queued_bytes = connection.receive_queue_bytes + (connection.send_queue_bytes or 0)
    return -queued_bytes, connection.local, connection.remote
