"""Devices of links, and networks for them that no route of the host leads to."""

from __future__ import annotations

import errno
import os
import socket
import time
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygram_bench import _native
from tinygram_bench.host.network import own_network
from tinygram_bench.links.devices import (
    End,
    host_routes,
    make_veth,
    open_tun,
    packet_socket,
    unrouted_networks,
)
from tinygram_bench.links.hosts import two_hosts
from tinygram_bench.links.spec import parse_link

PRIVATE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]


def first_near(*routes: str) -> str:
    ((near, _far),) = unrouted_networks([IPv4Network(route) for route in routes], 1)
    return near


def test_a_network_that_a_route_leads_to_is_passed_over() -> None:
    assert first_near() == "10.128.0.1"
    assert first_near("10.128.0.0/16") == "10.129.0.1"
    assert first_near("10.128.0.3/32") == "10.128.0.5"
    assert first_near("10.0.0.0/8") == "172.16.0.1"
    assert first_near("10.0.0.0/8", "172.16.0.0/12") == "192.168.0.1"


def test_a_way_out_covers_nothing() -> None:
    assert first_near("0.0.0.0/0", "128.0.0.0/1", "0.0.0.0/1") == first_near()


def test_where_every_private_network_is_routed_there_is_an_error() -> None:
    with pytest.raises(OSError, match="assign") as caught:
        first_near(*PRIVATE)
    assert caught.value.errno == errno.EADDRNOTAVAIL


@given(
    st.lists(
        st.builds(
            lambda address, bits: IPv4Network((IPv4Address(0x0A000000 | address), bits), False),
            st.integers(0, (1 << 24) - 1),
            st.integers(8, 32),
        ),
        max_size=40,
    ),
    st.integers(1, 64),
)
def test_no_address_is_in_a_routed_network_and_all_networks_differ(
    routes: list[IPv4Network], count: int
) -> None:
    found = [
        (IPv4Address(near), IPv4Address(far)) for near, far in unrouted_networks(routes, count)
    ]
    networks = {IPv4Network((int(near) & ~3, 30)) for near, _ in found}
    assert len(networks) == len(found) == count
    for near, far in found:
        assert (int(near) & 3, int(far) & 3) == (1, 2)
        assert near.is_private
    for network in networks:
        assert not any(network.overlaps(route) for route in routes)


@pytest.mark.usefixtures("links_permitted")
def test_the_routes_of_every_table_are_listed() -> None:
    with two_hosts() as hosts:
        fd = open_tun(hosts.near.end, 1_500, 10, False)
        try:
            with hosts.near.network.entered():
                routes = host_routes()
        finally:
            os.close(fd)
        host = IPv4Network(f"{hosts.near.address}/30", strict=False)
    # The route to the other host, and the local table's to the host itself.
    assert host in routes
    assert IPv4Network(f"{hosts.near.address}/32") in routes


@pytest.mark.usefixtures("links_permitted")
def test_a_name_that_is_taken_is_an_error_and_leaves_no_descriptor() -> None:
    with two_hosts() as hosts:
        make_veth(hosts.near.end, hosts.far.end, 1_500)
        before = os.listdir("/proc/self/fd")
        with pytest.raises(OSError, match="exists") as caught:
            make_veth(hosts.near.end, hosts.far.end, 1_500)
        assert caught.value.errno == errno.EEXIST
        with pytest.raises(OSError, match="Invalid"):
            open_tun(hosts.near.end, 1_500, 10, False)
        assert os.listdir("/proc/self/fd") == before


@pytest.mark.usefixtures("links_permitted")
def test_calibration_sends_each_datagram_once_each_way() -> None:
    with two_hosts() as hosts:
        near, far = (open_tun(host.end, 1_500, 1_000, False) for host in (hosts.near, hosts.far))
        link = _native.LinkRelay(near, far, parse_link("rtt=2ms").direction, 1, "tun")
        os.close(near)
        os.close(far)
        link.start()
        found = dict(
            link.calibrate(hosts.near.namespace_fd, hosts.far.namespace_fd, hosts.far.address)
        )
        link.stop()
    assert found["asked_rtt_ns"] == 2_000_000
    assert found["found_rtt_ns"] >= 2_000_000
    counters = dict(link.counters())
    # Seven looks at 60 round trips of 2 ms, of which no datagram was lost.
    assert counters["near_to_far_packets"] == counters["far_to_near_packets"] == 7 * 60


def missed_when_settled(link: _native.LinkRelay) -> int:
    """The count once it has stayed the same for 0.1 s: a busy kernel delivers frames late."""
    give_up_s = time.monotonic() + 60
    missed, since_s = -1, time.monotonic()
    while time.monotonic() - since_s < 0.1:
        assert time.monotonic() < give_up_s, f"the count still changes: {missed}"
        now = dict(link.counters())["near_to_far_missed"]
        if now != missed:
            missed, since_s = now, time.monotonic()
        time.sleep(0.001)
    return missed


@pytest.mark.usefixtures("links_permitted")
def test_frames_that_a_packet_socket_had_no_room_for_are_counted_once() -> None:
    sent = 1_000
    with two_hosts() as hosts, own_network() as between:
        listening = End(between, "tg-between", None)
        make_veth(hosts.near.end, listening, 1_500)
        idle, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        idle.setblocking(False)
        with idle, other, socket.socket(fileno=packet_socket(listening)) as frames:
            # The kernel makes of it the least that there is.
            frames.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
            each_way = parse_link("rtt=2ms").direction
            # It is not started, so nobody takes frames.
            link = _native.LinkRelay(frames.fileno(), idle.fileno(), each_way, 1, "ethernet")
            with (
                hosts.near.network.entered(),
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
            ):
                # A busy kernel begins to use a new device only after it said that it is up.
                give_up_s = time.monotonic() + 60
                while dict(link.counters())["near_to_far_missed"] == 0:
                    sender.sendto(bytes(1_000), (hosts.far.address, 9))
                    assert time.monotonic() < give_up_s, "no frame was missed"
                before = missed_when_settled(link)
                for _ in range(sent):
                    sender.sendto(bytes(1_000), (hosts.far.address, 9))
                after = missed_when_settled(link)
            assert sent / 2 <= after - before <= sent * 3 / 2
            assert dict(link.counters())["far_to_near_missed"] == 0
            assert missed_when_settled(link) == after
