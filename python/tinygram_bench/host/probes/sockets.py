"""What the kernel holds of TCP connections and listeners at one instant, as values.

Laws: units are last in the names; what is not known here is None. The kernel's own words are in
tcp(7), sock_diag(7) and linux/tcp.h (`struct tcp_info`); counters start with the connection.
"""

from __future__ import annotations

from tinygram_bench.model.value import Value


class Owner(Value, frozen=True):
    """A process that has a socket as its descriptor `fd`; of several the first one found."""

    pid: int
    name: str
    fd: int


class Connection(Value, frozen=True):
    """One end of a connection.

    `send_queue_bytes` are `unsent_bytes` and `unacknowledged_bytes` together. None are: from
    /proc/net/tcp, all but the queues, the timer and the congestion window; with an older kernel,
    what it does not know; `is_nodelay` and `is_corked` where the owner may not be asked.
    `sent_bytes` and `data_segments_sent` include retransmissions.
    """

    local: str
    remote: str
    state: str
    user_id: int
    inode: int
    receive_queue_bytes: int
    send_queue_bytes: int | None
    unsent_bytes: int | None
    unacknowledged_bytes: int | None
    cwnd_segments: int | None
    rtt_us: int | None
    rtt_variance_us: int | None
    min_rtt_us: int | None
    delivery_rate_bytes_per_s: int | None
    send_mss_bytes: int | None
    peer_window_bytes: int | None
    retransmits: int | None
    retransmitted_bytes: int | None
    lost_segments: int | None
    unacknowledged_segments: int | None
    segments_sent: int | None
    segments_received: int | None
    data_segments_sent: int | None
    data_segments_received: int | None
    sent_bytes: int | None
    acknowledged_bytes: int | None
    received_bytes: int | None
    timer: str | None
    timer_expires_ms: int | None
    retransmission_timeout_us: int | None
    delayed_ack_timeout_us: int | None
    since_last_data_sent_ms: int | None
    since_last_data_received_ms: int | None
    busy_us: int | None
    receive_window_limited_us: int | None
    send_buffer_limited_us: int | None
    receive_memory_bytes: int | None
    receive_buffer_bytes: int | None
    send_buffer_bytes: int | None
    send_memory_bytes: int | None
    congestion_control: str | None
    owner: Owner | None = None
    is_nodelay: bool | None = None
    is_corked: bool | None = None

    @property
    def bytes_per_segment(self) -> float | None:
        """The mean bytes of a segment with data; segments sent again count again."""
        if self.sent_bytes is None or not self.data_segments_sent:
            return None
        return self.sent_bytes / self.data_segments_sent


class Listener(Value, frozen=True):
    """A socket that accepts connections.

    `accept_queue_connections` wait to be accepted; when more than `backlog_connections` would, the
    kernel drops the client's segments. `half_open_connections` are those whose SYN was answered,
    with nothing received since.
    """

    local: str
    user_id: int
    inode: int
    accept_queue_connections: int
    backlog_connections: int | None
    half_open_connections: int
    owner: Owner | None = None

    @property
    def is_full(self) -> bool:
        """Whether a connection that comes now is dropped (Linux compares with `>`)."""
        backlog = self.backlog_connections
        return backlog is not None and self.accept_queue_connections > backlog


class Snapshot(Value, frozen=True):
    """What the kernel held at one instant.

    `at_ns` is CLOCK_MONOTONIC before it was asked. `left_out`: how many more sockets there were.
    `notes` say why something is not known.
    """

    at_ns: int
    source: str
    connections: tuple[Connection, ...]
    listeners: tuple[Listener, ...]
    left_out: int = 0
    notes: tuple[str, ...] = ()
