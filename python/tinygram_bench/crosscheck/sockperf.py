"""sockperf (github.com/Mellanox/sockperf): `throughput` sends, and `ping-pong` calls."""

from __future__ import annotations

from tinygram_bench.crosscheck.peer import (
    HOST,
    NAGLE,
    NODELAY,
    Program,
    Reading,
    Setting,
    Words,
    Work,
    number_in,
)

_HEADERS = "it has a header of 14 bytes within each message, which its server reads"


def _server(work: Work) -> list[str]:
    return ["sockperf", "server", "--tcp", "-i", HOST, "-p", str(work.port)]


def _client(mode: str, *options: str) -> Words:
    def words(work: Work) -> list[str]:
        address = ("--tcp", "-i", HOST, "-p", str(work.port))
        load = ("-m", str(work.message_bytes), "-t", str(work.seconds))
        return ["sockperf", mode, *address, *load, *options]

    return words


def read_throughput(output: str, _work: Work) -> Reading:
    """Read `Total of N messages sent` and `Message Rate is N [msg/sec]`."""
    rate_per_s = number_in(r"Message Rate is ([0-9]+) \[msg/sec\]", output, "message rate")
    sent = number_in(r"Total of ([0-9]+) messages sent", output, "count of messages")
    return Reading(rate_per_s, round(sent))


def read_ping_pong(output: str, _work: Work) -> Reading:
    """Read `percentile 50.000 = N` in µs, of whole round trips: it must say `Round trip`."""
    number_in(r"Summary: Round trip is +([0-9.]+) usec", output, "round trip time")
    p50_us = number_in(r"percentile 50\.0* *= *([0-9.]+)", output, "median")
    received = number_in(r"\[Total Run\].*ReceivedMessages=([0-9]+)", output, "count of messages")
    return Reading(p50_us, round(received))


def _throughput(name: str, client: Words, batching: str) -> Setting:
    return Setting(
        name=name,
        strategy=name,
        figure="throughput_per_s",
        server=_server,
        client=client,
        read=read_throughput,
        batching=batching,
        meaning="messages that its client handed to the kernel, by the time that took; what is "
        "still in the send queue at the end counts",
        differences=(_HEADERS, "the same bytes in each message"),
    )


SOCKPERF = Program(
    name="sockperf",
    version_option="--version",
    sizes=(14, 65_507),
    settings={
        "stream": (
            # Only this mode leaves Nagle on; the option turns it off.
            _throughput("nagle", _client("throughput"), NAGLE),
            _throughput("nodelay", _client("throughput", "--tcp-avoid-nodelay"), NODELAY),
        ),
        "rr": (
            Setting(
                name="nodelay",
                strategy="nodelay",
                figure="call_p50_us",
                server=_server,
                client=_client("ping-pong", "--full-rtt"),
                read=read_ping_pong,
                batching=NODELAY,
                meaning="the median of whole round trips, without those of the first 400 ms and "
                "the last 50 ms",
                differences=(_HEADERS, "it compares no byte of the replies, ours all"),
            ),
        ),
    },
)
