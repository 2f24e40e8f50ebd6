"""What calibrating a link found is used again for a while, where it reached what was asked."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, cast

import pytest

from tinygram_bench.host.network import Network
from tinygram_bench.links.backends.relay import _calibrated, forget_calibrations
from tinygram_bench.links.hosts import Host, Hosts

if TYPE_CHECKING:
    from tinygram_bench._native import LinkRelay


class Relay:
    """What is left of round trips is what the test says."""

    def __init__(self, left_rtt_ns: int) -> None:
        self.found = {"asked_rtt_ns": 1_000_000, "found_rtt_ns": 1_060_000}
        self.found |= {"left_rtt_ns": left_rtt_ns, "excess_ns": 60_000}
        self.calibrations = 0
        self.excess_ns = 0

    def calibrate(self, _near: int, _far: int, _address: str) -> dict[str, int]:
        self.calibrations += 1
        return self.found

    def set_excess_ns(self, excess_ns: int) -> None:
        self.excess_ns = excess_ns


def calibrated(relay: Relay) -> dict[str, int]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        host = Host(Network(), 0, device="", address="", devices_fd=0, asking=asking)
        hosts = Hosts(near=host, far=host, near_counter_fds=(), far_counter_fds=())
        return _calibrated(cast("LinkRelay", relay), hosts, ("rtt=1ms", "tun"))


def test_what_calibrating_found_is_used_again_for_a_minute_and_says_its_age(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_ns = 5_000_000_000
    monkeypatch.setattr("time.monotonic_ns", lambda: now_ns)
    forget_calibrations()
    first, second = Relay(1_001_000), Relay(1_002_000)
    assert calibrated(first) == first.found | {"calibration_age_ns": 0}
    now_ns += 59_000_000_000
    assert calibrated(second) == first.found | {"calibration_age_ns": 59_000_000_000}
    assert (second.calibrations, second.excess_ns) == (0, 60_000)
    now_ns += 1_000_000_000
    assert calibrated(second) == second.found | {"calibration_age_ns": 0}
    forget_calibrations()


@pytest.mark.parametrize("left_rtt_ns", [900_000, 1_100_000])
def test_what_calibrating_missed_is_not_used_again(left_rtt_ns: int) -> None:
    forget_calibrations()
    relay = Relay(left_rtt_ns)
    for _ in range(2):
        assert calibrated(relay)["calibration_age_ns"] == 0
    assert relay.calibrations == 2
