"""Keys in files: which one answers at an address is kept, and a damaged one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tinygram_bench.hosts.address import FarAddress
from tinygram_bench.hosts.keys import _text as text_of
from tinygram_bench.hosts.keys import (
    keep_answering,
    keep_server_keys,
    make_keys,
    name_of,
    server_keys,
)
from tinygram_bench.model.errors import UsageError

ONE, OTHER = "0123456789abcdef", "fedcba9876543210"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this user's keys are."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "tinygram"


@pytest.mark.parametrize(
    ("address", "named"),
    [
        (FarAddress("Db.example", "Db.example", 5201), "db.example:5201"),
        (FarAddress("192.0.2.7:80", "192.0.2.7", 80), "192.0.2.7:80"),
        (FarAddress("2001:db8::7", "2001:db8::7", 5201), "[2001:db8::7]:5201"),
    ],
)
def test_what_is_kept_is_named_by_host_and_port(address: FarAddress, named: str) -> None:
    assert address.named == named


def test_another_key_at_an_address_is_refused_until_the_user_removes_what_was_kept(
    folder: Path,
) -> None:
    keep_answering("192.0.2.7:5201", ONE)
    keep_answering("192.0.2.7:5201", ONE)
    keep_answering("192.0.2.8:5201", OTHER)
    file = folder / "answering" / "192.0.2.7:5201"
    with pytest.raises(UsageError, match=f"{OTHER}.*{ONE}.*remove {file} and measure again"):
        keep_answering("192.0.2.7:5201", OTHER)
    file.unlink()
    keep_answering("192.0.2.7:5201", OTHER)
    assert [path.name for path in file.parent.iterdir() if path.name.startswith("192.0.2.7")] == [
        file.name
    ]
    assert file.stat().st_mode & 0o077 == 0


def test_what_was_kept_is_shown_without_what_a_terminal_would_obey(folder: Path) -> None:
    keep_answering("it:1", ONE)
    (folder / "answering" / "it:1").write_bytes(b"\x1b[2J\xff" * 100)
    with pytest.raises(UsageError) as caught:
        keep_answering("it:1", ONE)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_keys_that_were_written_are_read(folder: Path) -> None:
    ours, _ = make_keys()
    assert keep_server_keys(ours) == folder / "serve-key"
    found = server_keys()
    assert found == ours
    assert name_of(found.own_certificate) == name_of(ours.own_certificate)


@pytest.mark.parametrize("part", ["own_key", "own_certificate", "other_certificate"])
@pytest.mark.parametrize("damaged", [b"", b"\x30\x82", b"x" * 300], ids=["none", "cut", "other"])
def test_a_damaged_key_is_told_with_its_file_and_the_remedy(
    folder: Path, part: str, damaged: bytes
) -> None:
    ours, _ = make_keys()
    keep_server_keys(ours)
    values = {name: getattr(ours, name) for name in ours.__struct_fields__} | {part: damaged}
    (folder / "serve-key").write_text(text_of(type(ours)(**values)))
    with pytest.raises(UsageError, match=r"serve-key holds no key .*tinygram serve --new-key"):
        server_keys()
