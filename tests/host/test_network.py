"""What cannot be set is told as what is not permitted, whichever way the kernel refuses it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tinygram_bench.host import network
from tinygram_bench.host.network import settings


class ReadOnly:
    """A file of a /proc/sys that may only be read."""

    def write_text(self, _text: str) -> int:
        raise OSError(errno.EROFS, "Read-only file system")


def test_a_proc_sys_that_may_only_be_read_permits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_CONGESTION_CONTROL", ReadOnly())
    with pytest.raises(PermissionError, match="may only be read"):
        settings.set_congestion_control("reno")


def test_an_unknown_name_is_another_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(settings, "_CONGESTION_CONTROL", tmp_path / "missing" / "file")
    with pytest.raises(FileNotFoundError):
        settings.set_congestion_control("reno")


def test_in_a_network_of_our_own_connections_keep_their_window_at_rest() -> None:
    setting = Path("/proc/sys/net/ipv4/tcp_slow_start_after_idle")
    before = setting.read_text()
    with network.own_network() as own, own.entered():
        assert settings.keep_windows()
        assert setting.read_text() == "0\n"
    assert setting.read_text() == before


def test_what_loopback_leads_to_is_an_address_of_ones_own() -> None:
    assert network.is_own_address("127.0.0.1")
    # Set aside for documentation (RFC 5737).
    assert not network.is_own_address("203.0.113.1")


def test_where_it_cannot_be_set_they_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    class Restarting(ReadOnly):
        def read_text(self) -> str:
            return "1\n"

    monkeypatch.setattr(settings, "_RESTARTS", Restarting())
    assert not settings.keep_windows()
