"""What is asked wrongly of `tinygram fanout` is said in one line, with a remedy."""

from __future__ import annotations

import resource

import pytest
from tests.support.command import Refused

WRONG = [
    (("--subscribers", "0"), ("--subscribers 0", "1 … 10000")),
    (("--subscribers", "10001"), ("--subscribers 10001", "1 … 10000")),
    (("--size", "15"), ("--size 15", "16 … ")),
    (("--subscribers", "5000", "--size", "1MiB"), ("256 MiB", "smaller messages")),
    (("--burst", "0"), ("--burst", "0")),
    (("--burst", "2000"), ("--burst 2000", "1 … 1000")),
    (("--arrival", "poisson"), ("--arrival", "--rate")),
    (("--rate", "10", "--arrival", "sometimes"), ("'sometimes'", "constant, poisson, onoff")),
    (("--rate", "0.1"), ("--rate 0.1", "--duration")),
    (("--rate", "1M", "--subscribers", "1000"), ("100 million", "fewer subscribers")),
    (("--slice", "1us"), ("--slice 1us", "1ms")),
    (("--slice", "2s"), ("--slice 2s", "--duration")),
    (
        ("--server", "127.0.0.1", "--subscribers", "2", "--slice", "1ms", "--duration", "5s"),
        ("4,000 slices", "5,000", "a longer --slice"),
    ),
    (("--server", "127.0.0.1", "--link", "wan"), ("--link", "--server 127.0.0.1")),
    (("--rate", "10", "--slice", "100ms"), ("--slice 100ms", "400ms")),
    (("--strategy", "cork"), ("strategy=cork", "asyncio/stdlib/protocol")),
    (("--only", "asyncio/datagrams"), ("'datagrams'", "protocol, streams, epoll, io_uring")),
]


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_one_line_names_the_value_and_the_remedy(
    words: tuple[str, ...], said: tuple[str, ...], refused: Refused
) -> None:
    refused(("fanout", *words), said)


def test_more_subscribers_than_descriptors_are_refused_with_the_limit(
    refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    refused(
        ("fanout", "--subscribers", "1000"),
        ("--subscribers 1000 needs 2100 descriptors", "1024", "ulimit -Hn 2100", "462"),
    )
