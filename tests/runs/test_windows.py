"""A connection to another host may begin each slice with a small window, and loopback's cannot."""

from __future__ import annotations

import json
import shlex
import socket
import sys
from pathlib import Path

import pytest
from tests.links.emulating import Emulate
from tests.support.command import Command
from tests.support.foreign_servers import peer

PORT = 9_117
SLICED = (
    # Long enough that a host which stops does not take all slices of a case.
    *("--size", 100, "--workers", 1, "--slice", "20ms", "--duration", "300ms", "--rounds", 1),
    *("--only", "runtime=native,strategy=nodelay"),
)
CODE = "windows_restart"


def test_a_server_on_another_host_is_told(tmp_path: Path) -> None:
    emulate = Emulate(tmp_path)
    server = [sys.executable, "-m", "tests.support.programs.echo_server", str(PORT), "honest"]
    measure = [*(sys.executable, "-m", "tinygram_bench", "echo"), *map(str, SLICED)]
    asked = f"{shlex.join(measure)} --server $TINYGRAM_FAR:{PORT} --json result.json"
    done = emulate.run("veth", "--far", shlex.join(server), "--", "sh", "-c", asked)
    assert done.code == 0, done.stderr
    runs = json.loads((tmp_path / "result.json").read_text())["runs"]
    told = {
        run["case_id"].split("/")[1]: CODE in {warning["code"] for warning in run["warnings"]}
        for run in runs
    }
    assert told == {"external": True, "native": False}


@pytest.mark.parametrize("command", ["echo"], indirect=True)
def test_a_server_on_this_host_is_not(command: Command) -> None:
    with peer(_echo) as port:
        done = command.run(*SLICED, "--server", f"127.0.0.1:{port}")
    assert done.code == 0, done.stderr
    assert len(done.runs) >= 2
    assert CODE not in {warning["code"] for run in done.runs for warning in run["warnings"]}


def _echo(connection: socket.socket) -> None:
    while data := connection.recv(1 << 16):
        connection.sendall(data)
