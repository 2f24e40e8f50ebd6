"""`tinygram emulate`: programs on two hosts, and what is said where that cannot be."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from tests.links.emulating import Emulate
from tests.links.round_trips import CLIENT, MOST_S, NETEMS_LEAST_S, PYTHON, RELAYS_LEAST_S, SERVER
from tests.support.namespaces import namespaces_of
from tests.support.waiting import LONGEST_S, wait_until

from tinygram_bench.cli import main

BACKENDS = ["relay", "netem"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_round_trip_takes_what_was_asked(emulate: Emulate, backend: str) -> None:
    link = ("rtt=40ms", "--link-backend", backend, "--far", SERVER)
    done = emulate.run(*link, "--", PYTHON, "-c", CLIENT)
    assert done.code == 0, done.stderr
    said, seconds = done.stdout.split()
    assert said == "over"
    # Where this kernel has no netem that is said, and the relay takes its place.
    is_replaced = "no netem here" in done.stderr
    assert is_replaced == ("going on with the relay" in done.stderr)
    assert f"rtt=40ms by {'relay' if is_replaced else backend} (" in done.stderr
    assert backend == "netem" or not is_replaced
    is_relay = backend == "relay" or is_replaced
    assert (RELAYS_LEAST_S if is_relay else NETEMS_LEAST_S) < float(seconds) < MOST_S


# What was sent is due after a second, and is on its way when the relay is stopped; if the host
# stopped meanwhile, this is done once more. What is sent then comes behind it, and its answer says
# so.
STALL = (
    "import os, signal, socket, time\n"
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "for _ in range(20):\n"
    "    at = time.monotonic()\n"
    "    for _ in range(200): s.sendto(b'x', (os.environ['TINYGRAM_FAR'], 7000))\n"
    "    time.sleep(0.3)\n"
    "    os.kill(os.getppid(), signal.SIGSTOP)\n"
    "    if time.monotonic() - at < 0.7: break\n"
    "    os.kill(os.getppid(), signal.SIGCONT)\n"
    "else: raise SystemExit('the host stops all the time')\n"
    "time.sleep(1.5)\n"
    "os.kill(os.getppid(), signal.SIGCONT)\n"
    "try: socket.create_connection((os.environ['TINYGRAM_FAR'], 7000))\n"
    "except ConnectionRefusedError: pass\n"
)


@pytest.mark.parametrize(("program", "is_late"), [(STALL, True), ("pass", False)])
def test_a_relay_that_was_stopped_is_late_and_says_so(
    emulate: Emulate, program: str, is_late: bool
) -> None:
    """What the program sent is due while the process that has the relay, its parent, is stopped."""
    done = emulate.run("rtt=2s", "--", PYTHON, "-c", program)
    assert done.code == 0, done.stderr
    assert ("the link was late" in done.stderr) == is_late


def test_a_plain_pair_has_no_delay(emulate: Emulate) -> None:
    done = emulate.run("veth", "--far", SERVER, "--", PYTHON, "-c", CLIENT)
    assert done.code == 0, done.stderr
    assert float(done.stdout.split()[1]) < 0.02


def test_a_lossy_link_still_delivers_every_byte(emulate: Emulate) -> None:
    done = emulate.run("rtt=1ms,loss=10%", "--far", SERVER, "--", PYTHON, "-c", CLIENT)
    assert done.code == 0, done.stderr
    assert done.stdout.split()[0] == "over"


def test_who_started_it_may_ignore_the_end_of_children(emulate: Emulate) -> None:
    ignoring = Emulate(emulate.folder, ("env", "--ignore-signal=CHLD"))
    assert ignoring.run("veth", "--", "sh", "-c", "exit 7").code == 7


def test_the_exit_code_is_that_of_the_command(emulate: Emulate) -> None:
    assert emulate.run("veth", "--", "sh", "-c", "exit 7").code == 7
    assert emulate.run("veth", "--", "sh", "-c", "kill -TERM $$").code == 128 + signal.SIGTERM


def test_a_far_program_that_ends_before_it_listens_is_told(emulate: Emulate) -> None:
    done = emulate.run("veth", "--far", "sh -c 'exit 3'", "--", "true")
    assert done.code == 1
    assert "the far program ended with status 3 before it listened" in done.stderr


def test_a_far_program_that_never_listens_is_told_and_the_near_one_runs(emulate: Emulate) -> None:
    done = emulate.run("veth", "--quiet", "--far", "sleep 600", "--", "sh", "-c", "exit 7")
    assert done.code == 7
    assert "the far program listens on no TCP port after 2 s" in done.stderr


def test_what_the_command_leaves_behind_ends_with_it(emulate: Emulate) -> None:
    # `run` asserts that nothing is left: setsid(1) is no child of anybody's group.
    done = emulate.run("veth", "--", "sh", "-c", "setsid sleep 1000 & setsid sleep 1000 & exit 0")
    assert done.code == 0


def test_two_links_at_once_do_not_meet(emulate: Emulate) -> None:
    waits = ("rtt=5ms", "--", "sh", "-c", "echo $TINYGRAM_FAR; sleep 1000")
    first, second = emulate.start(*waits), emulate.start(*waits)
    wait_until(lambda: len(namespaces_of(emulate.processes())) >= 2, 60.0, "both links are up")
    assert len(namespaces_of(emulate.wait_sleeping(2))) == 2
    for process in (first, second):
        process.send_signal(signal.SIGTERM)
        process.wait(LONGEST_S)
    emulate.wait_gone()


WRONG: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    ((), ("a link and a command", "tinygram emulate wifi --")),
    (("wifi",), ("a link and a command",)),
    (("wify", "--", "true"), ("'wify'", "lan-1g, lan-100m, wifi, wan")),
    (("rtt=1ms,loss=120%", "--", "true"), ("120%", "0% … 50%")),
    (("wifi", "--", "./none-such"), ("'./none-such'", "PATH")),
    (("wifi", "--far", "./none-such", "--", "true"), ("'./none-such'", "PATH")),
    (("wifi", "--far", "'", "--", "true"), ("--far", "No closing quotation")),
    (("wifi", "--far", "", "--", "true"), ("--far ''", "PATH")),
    (("wifi", "--check"), ("--check looks at this machine", "leave out the link")),
    (("wifi", "--link-backend", "tc", "--", "true"), ("'tc'", "relay, netem, veth")),
    (("wifi", "--link-backend", "veth", "--", "true"), ("--link-backend veth", "no delay")),
    (("loopback", "--", "true"), ("loopback has no far host", "veth")),
    (("wifi", "--seed", "-1", "--", "true"), ("--seed -1", "0 … ")),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_line_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    said: tuple[str, ...],
) -> None:
    def never(*_arguments: object) -> None:
        raise AssertionError("a link was begun")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tinygram", "emulate", *arguments])
    monkeypatch.setattr("tinygram_bench.links.sandbox.enter", never)
    with pytest.raises(SystemExit) as exited:
        main()
    captured = capsys.readouterr()
    assert exited.value.code == 2
    assert captured.err.startswith("tinygram: error: ")
    assert captured.err.count("\n") == 1
    for part in said:
        assert part in captured.err


def test_check_tells_what_is_permitted_backend_by_backend(emulate: Emulate) -> None:
    done = emulate.run("--check")
    assert done.code == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert list(lines) == ["namespaces", "relay", "netem", "veth", "loopback"]
    assert lines["loopback"].split()[1] == "yes"
    for line in lines.values():
        assert line.split()[1] in ("yes", "no")
        if line.split()[1] == "no":
            assert ";" in line, "a remedy follows"
