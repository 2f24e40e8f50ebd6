"""Links as people write them: one name for what means the same, and what is impossible refused."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygram_bench import _native
from tinygram_bench._native import ETHERNET_BYTES
from tinygram_bench.links import PRESETS, parse_link, parse_links, plan_over
from tinygram_bench.links.backends import BACKENDS
from tinygram_bench.links.backends.netem import netem_options
from tinygram_bench.links.backends.relay import wants_offload
from tinygram_bench.model.errors import UsageError

CUSTOM = "rtt=1ms,bandwidth=100mbit,jitter=50us,loss=0.1%,queue=300kb,mtu=1400"

WRONG: list[tuple[str, tuple[str, ...]]] = [
    ("lan", ("'lan'", "lan-1g, lan-100m, wifi, wan, loopback, veth", "rtt=1ms")),
    ("", ("''", "wifi")),
    ("rtt=1ms,loss=120%", ("loss", "120%", "0% … 50%")),
    ("rtt=1ms,loss=0.1", ("loss", "'0.1'", "0.1%")),
    ("rtt=1ms,loss=-1%", ("loss", "'-1%'")),
    ("rtt=1ms,bandwidth=0mbit", ("bandwidth", "0mbit", "8kbit … 100gbit", "leave bandwidth away")),
    ("rtt=1ms,bandwidth=0", ("bandwidth", "0 is outside", "8kbit … 100gbit")),
    ("rtt=1ms,bandwidth=100", ("bandwidth", "'100' has no unit", "mbit")),
    ("rtt=1ms,bandwidth=-5mbit", ("bandwidth", "'-5mbit'")),
    ("rtt=1ms,bandwidth=100mbps", ("bandwidth", "'mbps'", "mbit")),
    ("rtt=1ms,bandwidth=9999999999999999gbit", ("bandwidth", "8kbit … 100gbit")),
    ("rtt=1ms,loss=NaN%", ("loss", "'NaN%'")),
    ("rtt=nanms", ("rtt", "'nanms'")),
    ("rtt=1e-3s", ("rtt", "'1e-3s'")),
    ("rtt=1ms,", ("'' is not KEY=VALUE", "rtt, bandwidth")),
    ("wifi,loss=1%", ("'wifi' is not KEY=VALUE",)),
    ("rtt=1ms,queue=300kb", ("without a bandwidth", "leave out queue")),
    ("rtt=1ms,bandwidth=1bit", ("8kbit … 100gbit",)),
    ("rtt=10us", ("rtt", "10us", "below the floor of 45us")),
    ("rtt=0us", ("rtt", "0us", "below the floor of 45us", "loopback")),
    ("rtt=1", ("rtt", "'1' has no unit")),
    ("rtt=11s", ("rtt", "11s is outside 45us … 10s")),
    ("bandwidth=1gbit", ("has no rtt", "rtt=1ms,bandwidth=1gbit")),
    ("rtt=1ms,rtt=2ms", ("rtt appears twice",)),
    ("rtt=1ms,colour=blue", ("'colour=blue'", "rtt, bandwidth, jitter, loss, queue, mtu")),
    ("rtt=1ms,mtu=100", ("mtu", "576 to 9216")),
    ("rtt=1ms,mtu=1e3", ("mtu", "'1e3'")),
    ("rtt=1ms,bandwidth=1gbit,queue=1kb", ("no packet of 1500 bytes", "1538 bytes")),
    ("rtt=1ms,bandwidth=1gbit,queue=2gb", ("queue", "2gb is outside 576B … 1GiB")),
    ("rtt=", ("rtt", "''")),
]


def test_no_jitter_and_no_loss_may_be_asked_for_and_the_longest_queue() -> None:
    assert parse_link("rtt=1ms,jitter=0us,loss=0%").text == "rtt=1ms"
    assert parse_link("rtt=1ms,bandwidth=1gbit,queue=1gib").queue_bytes == 1 << 30


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[text for text, _ in WRONG])
def test_what_is_impossible_names_the_value_and_what_is_allowed(
    text: str, said: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as raised:
        parse_link(text)
    for part in said:
        assert part in str(raised.value)


def test_a_custom_link_is_known_by_its_values_in_one_order() -> None:
    shuffled = parse_link(
        "mtu=1400, loss=0.10%, queue=300000B,jitter=0.05ms,bandwidth=0.1gbit,rtt=1ms"
    )
    assert shuffled.text == "rtt=1ms,bandwidth=100mbit,jitter=50us,loss=0.1%,queue=300kB,mtu=1400"
    assert shuffled == parse_link(CUSTOM)


def test_a_preset_keeps_its_name_and_tells_its_meaning() -> None:
    for name, meaning in PRESETS.items():
        assert parse_link(name).text == name
        assert parse_link(name).meaning == meaning
        assert parse_link(meaning).direction == parse_link(name).direction


def test_links_are_there_once_in_the_order_given_and_loopback_where_none_is() -> None:
    assert [link.text for link in parse_links(None)] == ["loopback"]
    found = parse_links(["wifi", "rtt=1000us", "rtt=1ms", "wifi", "loopback"])
    assert [link.text for link in found] == ["wifi", "rtt=1ms", "loopback"]


def test_a_queue_holds_a_round_trip_and_ten_milliseconds() -> None:
    assert parse_link("lan-1g").queue_bytes == 1_250_000
    assert parse_link("lan-100m").queue_bytes == 256_000
    assert parse_link("wan").queue_bytes == 506_250


@given(
    rtt_us=st.integers(45, 1_000_000),
    bandwidth_kbit=st.integers(8, 10_000_000),
    jitter_us=st.integers(0, 100_000),
    loss=st.decimals(0, 50, places=20),
    mtu_bytes=st.integers(576, 9_216),
)
def test_a_link_survives_its_own_name(
    rtt_us: int, bandwidth_kbit: int, jitter_us: int, loss: Decimal, mtu_bytes: int
) -> None:
    parts = [f"rtt={rtt_us}us", f"bandwidth={bandwidth_kbit}kbit", f"mtu={mtu_bytes}"]
    parts += [f"jitter={jitter_us}us"] if jitter_us else []
    parts += [f"loss={loss:f}%"]
    link = parse_link(",".join(parts))
    assert parse_link(link.text) == link
    # What can be asked for, the relay can be: it would refuse what no link can be.
    with open("/dev/null") as device:
        fd = device.fileno()
        _native.LinkRelay(fd, fd, link.direction, 1, "tun")


def test_netem_is_asked_for_the_same_link() -> None:
    words = " ".join(netem_options(parse_link(CUSTOM)))
    # Ours adds 0 to 50 µs, netem's is 25 more or less; 24 of the 38 bytes are in no frame.
    delayed = "delay 525.000us 25.000us loss random 0.1% rate 100000000bit 24"
    limit = (100_000_000 * 550_000 // 8_000_000_000 + 300_000) // (1_400 + ETHERNET_BYTES)
    assert words == f"netem limit {limit} {delayed}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("rtt=1ms", True),
        ("rtt=1ms,loss=1%", False),
        ("rtt=1ms,bandwidth=1gbit", False),
        ("rtt=1ms,bandwidth=2gbit", True),
        ("rtt=1ms,bandwidth=2gbit,loss=1%", False),
        # What stays together would be dropped together, each time.
        ("rtt=1ms,bandwidth=2gbit,queue=10kb", False),
    ],
)
def test_segments_stay_together_where_one_fate_for_all_does_no_harm(
    text: str, wanted: bool
) -> None:
    assert wants_offload(parse_link(text)) is wanted


def test_a_backend_that_cannot_and_one_that_is_not_there_are_refused() -> None:
    def never(_link: object) -> object:
        raise AssertionError("a plan was made")

    with pytest.raises(UsageError, match=r"--link-backend veth has no delay.*wifi.*relay, netem"):
        plan_over(parse_links(["wifi"]), "veth", never)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"unknown link backend 'tc': .*relay, netem, veth"):
        plan_over(parse_links(["wifi"]), "tc", never)  # type: ignore[arg-type]
    assert set(BACKENDS) == {"relay", "netem", "veth", "loopback"}
