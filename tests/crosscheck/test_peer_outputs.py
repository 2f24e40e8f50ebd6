"""Each program's output is read in its own units; one without a figure is refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.crosscheck import outputs

from tinygram_bench.crosscheck import iperf3, nuttcp, qperf, sockperf
from tinygram_bench.crosscheck.peer import Reading, Work
from tinygram_bench.crosscheck.selection import PROGRAMS

Read = Callable[[str, Work], Reading]

WORK = Work(message_bytes=100, seconds=1, port=40_001, data_port=40_002, congestion_control="cubic")
READERS: list[Read] = [
    setting.read
    for program in PROGRAMS
    for settings in program.settings.values()
    for setting in settings
]


@pytest.mark.parametrize(
    ("read", "output", "value", "messages"),
    [
        (sockperf.read_throughput, outputs.SOCKPERF_THROUGHPUT, 399_950, 400_000),
        (sockperf.read_ping_pong, outputs.SOCKPERF_PING_PONG, 49.557, 20_000),
        (iperf3.read_json, outputs.IPERF3, 400_000, 400_000),
        (nuttcp.read_parsable, outputs.NUTTCP, 400_000, 400_000),
        (qperf.read_bandwidth, outputs.QPERF_BANDWIDTH, 400_000, None),
        (qperf.read_bandwidth, outputs.QPERF_BANDWIDTH_SCALED, 400_000, None),
        # It tells one way: the half of a round trip.
        (qperf.read_latency, outputs.QPERF_LATENCY, 50.265, None),
        (qperf.read_latency, outputs.QPERF_LATENCY_SCALED, 50.265, None),
    ],
)
def test_figures_are_in_our_units(
    read: Read, output: str, value: float, messages: int | None
) -> None:
    reading = read(output, WORK)
    assert reading.value == pytest.approx(value, rel=1e-6)
    assert reading.messages == messages


def test_half_a_round_trip_is_not_taken_for_a_whole_one() -> None:
    halves = outputs.SOCKPERF_PING_PONG.replace("Round trip is", "Latency is")
    with pytest.raises(ValueError, match="no round trip time"):
        sockperf.read_ping_pong(halves, WORK)


def test_what_iperf3_says_in_its_output_is_the_reason() -> None:
    with pytest.raises(ValueError, match="unable to connect to server: Connection refused"):
        iperf3.read_json(outputs.IPERF3_REFUSED, WORK)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("output", ["", "{}", "[]", "connection refused\n", "bw = 1 parsec\n"])
def test_an_output_without_a_figure_is_no_figure(read: Read, output: str) -> None:
    with pytest.raises(ValueError, match="its output"):
        read(output, WORK)


@pytest.mark.parametrize("read", READERS)
@given(output=st.text())
def test_no_output_breaks_a_reader(read: Read, output: str) -> None:
    with suppress(ValueError):
        assert read(output, WORK).value >= 0


def test_every_program_is_told_the_size_the_port_and_the_time() -> None:
    for program in PROGRAMS:
        for settings in program.settings.values():
            for setting in settings:
                server, client = setting.server(WORK), setting.client(WORK)
                assert server[0] == client[0] == program.name
                assert any("40001" in word for word in server)
                for told in ("40001", "100", "1", "127.0.0.1"):
                    assert any(told in word for word in client), (client, told)


def test_nagle_is_said_where_a_program_has_it_otherwise() -> None:
    words = {
        (program.name, setting.name): setting.client(WORK)
        for program in PROGRAMS
        for setting in program.settings.get("stream", ())
    }
    # sockperf's throughput has Nagle on, and its option turns it to the other one.
    assert "--tcp-avoid-nodelay" not in words["sockperf", "nagle"]
    assert "--tcp-avoid-nodelay" in words["sockperf", "nodelay"]
    assert "--no-delay" in words["iperf3", "nodelay"]
    assert "-D" in words["nuttcp", "nodelay"]
    assert ("qperf", "nodelay") not in words
