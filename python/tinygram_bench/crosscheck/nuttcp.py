"""nuttcp (nuttcp.net): sends messages one way; it does not call."""

from __future__ import annotations

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
    number_in,
)

_MIB = 1 << 20
_BYTES_PER_MBIT = 125_000


def _server(work: Work) -> list[str]:
    # Without --nofork it would move to a session of its own, in which we could not end it.
    return ["nuttcp", "-S", "--nofork", f"-P{work.port}"]


def _client(*options: str) -> Words:
    def words(work: Work) -> list[str]:
        ports = (f"-P{work.port}", f"-p{work.data_port}")
        load = (f"-l{work.message_bytes}", f"-T{work.seconds}")
        return ["nuttcp", "-t", "-fparse", *ports, *load, *options, HOST]

    return words


def read_parsable(output: str, work: Work) -> Reading:
    """Read `megabytes=N` (2^20 bytes) and `rate_Mbps=N` (10^6 bits per second) of `-fparse`."""
    sent_bytes = number_in(r"\bmegabytes=([0-9.]+)", output, "megabytes=") * _MIB
    bytes_per_s = number_in(r"\brate_Mbps=([0-9.]+)", output, "rate_Mbps=") * _BYTES_PER_MBIT
    return Reading(bytes_per_s / work.message_bytes, round(sent_bytes / work.message_bytes))


def _setting(name: str, client: Words, batching: str) -> Setting:
    return Setting(
        name=name,
        strategy=name,
        figure="throughput_per_s",
        server=_server,
        client=client,
        read=read_parsable,
        batching=batching,
        meaning="bytes that its server received, by the size of a message and its server's time",
        differences=(READS_SINGLY, CHECKS_NOTHING),
    )


NUTTCP = Program(
    name="nuttcp",
    version_option="-V",
    sizes=(1, 1 << 20),
    listens_everywhere=True,
    settings={
        "stream": (
            _setting("nagle", _client(), NAGLE),
            _setting("nodelay", _client("-D"), NODELAY),
        )
    },
)
