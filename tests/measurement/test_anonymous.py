"""`--anonymous`: nothing in the file tells whose it is."""

from __future__ import annotations

import getpass
import socket
import sys

import msgspec
import pytest
from tests.support.command import Command
from tests.support.small_result import RESULT

from tinygram_bench.measurement.anonymous import anonymised
from tinygram_bench.model import store
from tinygram_bench.model.result import Resumption, Warning
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr

WAY = ("--only", "runtime=loop,implementation=stdlib,strategy=nodelay", "--rounds", 1)


@pytest.mark.parametrize("command", ["stream"], indirect=True)
def test_host_and_time_are_told_unless_it_is_anonymous(command: Command) -> None:
    done = command.run(*WAY, "--messages", 100, "--quiet")
    assert done.result["host"] == socket.gethostname()
    assert done.result["started_at"].endswith("Z")
    assert done.result["answer"]


@pytest.mark.parametrize("command", ["stream"], indirect=True)
def test_an_anonymous_result_has_no_names_and_no_folders(command: Command) -> None:
    """The receiver's path is in its command, and in what it says when it fails."""
    program = command.folder / "receiver.py"
    program.write_text("raise SystemExit('cannot read ' + __file__)")
    receiver = ("--receiver-command", f"{sys.executable} {program}")
    done = command.run(*WAY, *receiver, "--anonymous", "--messages", 100, "--quiet")
    assert done.code == 1
    text = command.result_path.read_text()
    assert str(command.folder) not in text
    assert socket.gethostname() not in text
    assert getpass.getuser() == "root" or getpass.getuser() not in text
    assert "receiver.py" in done.runs[0]["failure"]
    assert done.result["host"] is None
    assert "--json" not in done.result["command"]
    process = command.start_words(command.words("--resume", command.result_path))
    _, stderr = command.said_at_end(process)
    assert process.returncode == 2
    assert "it is anonymous, and leaves out options" in stderr


@pytest.mark.parametrize("command", ["stream"], indirect=True)
def test_an_anonymous_measurement_goes_on(command: Command) -> None:
    command.run(*WAY, "--messages", 100, "--anonymous", "--quiet")
    whole = store.load(command.result_path)
    store.save(msgspec.structs.replace(whole, runs=()), command.result_path)
    process = command.start_words(command.words("--resume", command.result_path, "--quiet"))
    assert command.said_at_end(process) == ("", "")
    resumed = store.load(command.result_path)
    assert [run.round for run in resumed.runs] == [0]
    assert (resumed.host, resumed.resumptions[0].host) == (None, None)


def test_addresses_and_names_are_left_out_wherever_they_are() -> None:
    address = "db.example.org:7000"
    case = plan_rr(RrOptions(server_address=("db.example.org", 7000))).cases[0]
    case = msgspec.structs.replace(case, case_id=f"rr/{address}")
    (run, _) = RESULT.runs
    said = f"{socket.gethostname()} refuses /srv/bob/a/x.py and {address}; see 127.0.0.1:80"
    result = msgspec.structs.replace(
        RESULT,
        command=("tinygram", "rr", "--server", address, "--json=/srv/bob/r.json", "--seed", "1"),
        plan=msgspec.structs.replace(RESULT.plan, cases=(case,)),
        runs=(msgspec.structs.replace(run, case_id=case.case_id, warnings=(Warning("a", said),)),),
        summaries=(),
        verdicts=(),
        host="somewhere",
        resumptions=(Resumption("2026-11-22T10:15:00Z", "somewhere", 0, {}),),
    )
    found = anonymised(result)
    assert found.command == ("tinygram", "rr", "--server", "<anonymous>:7000", "--seed", "1")
    assert found.runs[0].case_id == found.plan.cases[0].case_id == "rr/<anonymous>:7000"
    assert found.runs[0].warnings[0].message == (
        "<anonymous> refuses <anonymous>/x.py and <anonymous>:7000; see 127.0.0.1:80"
    )
    text = msgspec.json.encode(found)
    assert not any(each in text for each in (b"example", b"bob", b"somewhere"))
    assert anonymised(found) == found


@pytest.mark.parametrize(
    ("option", "value", "host", "shown"),
    [
        ("--server", "192.0.2.7", "192.0.2.7", "<anonymous>"),
        ("--server", "[2001:db8::7]:5201", "2001:db8::7", "[<anonymous>]:5201"),
        ("--server", "2001:db8::7", "2001:db8::7", "<anonymous>"),
        ("--server", "[2001:470:1f0b::7]:7000", "2001:470:1f0b::7", "[<anonymous>]:7000"),
        ("--server", "birch:5201", "192.0.2.7", "<anonymous>:5201"),
        ("--cluster", "db.example.org:6379", "db.example.org", "<anonymous>:6379"),
    ],
)
def test_another_host_is_left_out_with_and_without_a_port(
    option: str, value: str, host: str, shown: str
) -> None:
    (run, _) = RESULT.runs
    lost = msgspec.structs.replace(run, failure=f"the connection to {host} was lost")
    result = msgspec.structs.replace(
        RESULT, command=("tinygram", "stream", option, value), runs=(lost,), summaries=()
    )
    found = anonymised(result)
    assert found.command[2:] == (option, shown)
    assert found.runs[0].failure == "the connection to <anonymous> was lost"
    together = msgspec.structs.replace(result, command=("tinygram", f"{option}={value}"))
    assert anonymised(together).command[1] == f"{option}={shown}"


@pytest.mark.parametrize("here", ["127.0.0.1", "localhost:5201", "::1", "[::1]:5201"])
def test_this_host_is_told_as_a_server(here: str) -> None:
    result = msgspec.structs.replace(RESULT, command=("tinygram", "stream", "--server", here))
    assert anonymised(result).command == result.command
