"""Whenever a measurement is ended, nothing is claimed that was not measured; nothing is left."""

from __future__ import annotations

import signal

import pytest
from tests.stream.faults.receivers import program
from tests.support.command import Command
from tests.support.namespaces import kept_namespaces, wait_empty
from tests.support.waiting import wait_until

from tinygram_bench.host.network import private_network

LONG_RUN = ("--rate", 1_000, "--duration", "60s")
STARTED_S = 60.0


# The bench ends a sender in one way, whatever its runtime; one of them has forked a process.
@pytest.mark.parametrize("runtime", ["threads", "processes"])
def test_before_the_first_run_is_finished_nothing_is_claimed(
    command: Command, runtime: str
) -> None:
    process = command.start("--only", f"runtime={runtime},strategy=nodelay", *LONG_RUN)
    command.wait_process("tg-sender")
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert done.code == 130
    assert done.result is None
    assert "Traceback" not in done.stderr


def test_while_it_waits_for_a_receiver_that_never_listens(command: Command) -> None:
    receiver = program("broken_receiver", "never-listen")
    process = command.start("--only", "runtime=loop", *LONG_RUN, "--receiver-command", receiver)
    wait_until(lambda: len(command.processes()) > 1, STARTED_S, "the receiver is started")
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert (done.code, done.result) == (130, None)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--only", "runtime=processes,strategy=nodelay"),
        ("--only", "runtime=uvloop", "--receiver-command", program("relay", "nothing")),
    ],
    ids=["forked-sender", "relay-and-its-receiver"],
)
def test_a_killed_bench_takes_everything_along(command: Command, options: tuple[str, ...]) -> None:
    process = command.start(*options, *LONG_RUN)
    command.wait_process("tg-sender")
    if "runtime=processes,strategy=nodelay" in options:
        wait_until(
            lambda: list(command.processes().values()).count("tg-sender") == 2,
            STARTED_S,
            "the sending process is forked",
        )
    with kept_namespaces(command.processes()) as namespaces:
        process.kill()
        process.wait()
        command.wait_gone()
        wait_empty(namespaces)
    assert not command.result_path.exists()


def test_a_run_has_a_network_of_its_own_that_goes_with_it(command: Command) -> None:
    with private_network() as network:
        if not network.is_private:
            pytest.skip("no network namespace may be made here")
    process = command.start(
        "--only", "runtime=loop,implementation=stdlib,strategy=nodelay", "--rounds", 1, *LONG_RUN
    )
    sender = command.wait_process("tg-sender")
    receiver = command.wait_process("tg-receiver")
    with kept_namespaces([sender, receiver]) as both:
        # A run that ended by itself might do so before it is looked at.
        process.send_signal(signal.SIGINT)
        assert command.finish(process).code == 130
        assert len(both) == 1
        wait_empty(both)
