"""iperf3 (software.es.net/iperf): sends messages one way; it does not call."""

from __future__ import annotations

import msgspec

from tinygram_bench.crosscheck.peer import (
    CHECKS_NOTHING,
    HOST,
    NAGLE,
    NODELAY,
    READS_SINGLY,
    Program,
    Reading,
    Setting,
    Words,
    Work,
)


class _Sum(msgspec.Struct):
    bytes: float
    seconds: float


class _End(msgspec.Struct):
    sum_received: _Sum | None = None


class _Output(msgspec.Struct):
    """The part of iperf3's JSON that is used; on failure `end` is empty and `error` says why."""

    end: _End = msgspec.field(default_factory=_End)
    error: str | None = None


def _server(work: Work) -> list[str]:
    return ["iperf3", "--server", "--one-off", "--bind", HOST, "--port", str(work.port)]


def _client(*options: str) -> Words:
    def words(work: Work) -> list[str]:
        address = ("--client", HOST, "--port", str(work.port))
        load = ("--length", str(work.message_bytes), "--time", str(work.seconds))
        return [
            *("iperf3", *address, *load, "--congestion", work.congestion_control),
            *("--json", *options),
        ]

    return words


def read_json(output: str, work: Work) -> Reading:
    """Read `end.sum_received`: the bytes that its server received, and the time that this took."""
    try:
        found = msgspec.json.decode(output.strip().encode(), type=_Output)
    except msgspec.DecodeError as error:
        raise ValueError(f"its output is not the JSON of iperf3: {error}") from error
    received = found.end.sum_received
    if found.error is not None:
        raise ValueError(found.error)
    if received is None or received.seconds <= 0 or received.bytes <= 0:
        raise ValueError("its output has no sum of what was received")
    messages = received.bytes / work.message_bytes
    return Reading(messages / received.seconds, round(messages))


def _setting(name: str, client: Words, batching: str) -> Setting:
    return Setting(
        name=name,
        strategy=name,
        figure="throughput_per_s",
        server=_server,
        client=client,
        read=read_json,
        batching=batching,
        meaning="bytes that its server received, by the size of a message and its server's time",
        differences=(
            "its client asks select(2) before every ten writes at most, and its server before each "
            "read",
            READS_SINGLY,
            CHECKS_NOTHING,
        ),
    )


IPERF3 = Program(
    name="iperf3",
    version_option="--version",
    sizes=(1, 1 << 20),
    settings={
        "stream": (
            _setting("nagle", _client(), NAGLE),
            _setting("nodelay", _client("--no-delay"), NODELAY),
        )
    },
)
