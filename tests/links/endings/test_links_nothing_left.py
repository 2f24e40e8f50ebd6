"""Whoever is killed, and whenever: no process and no namespace of a link is left."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress

import pytest
from tests.links.emulating import Emulate
from tests.support.namespaces import kept_namespaces, wait_empty
from tests.support.waiting import LONGEST_S

KILLS = 20
NEAR = "setsid sleep 1000 & exec sleep 1000"
COMMAND = ("rtt=1ms", "--far", "sleep 1000", "--", "sh", "-c", NEAR)


def check_nothing_left(emulate: Emulate, namespaces: set[int]) -> None:
    emulate.wait_gone()
    wait_empty(namespaces)


def test_a_kill_at_a_random_moment_of_any_of_its_processes_leaves_nothing(
    emulate: Emulate,
) -> None:
    chance = random.Random(1)
    for _ in range(KILLS):
        process = emulate.start(*COMMAND)
        time.sleep(chance.uniform(0.0, 3.0))
        pids = sorted(emulate.processes())
        with kept_namespaces(pids) as namespaces:
            # Those of the user's own may die without ending the others, so one of ours follows.
            with suppress(ProcessLookupError):
                os.kill(chance.choice(pids), signal.SIGKILL)
            process.kill()
            process.wait()
            check_nothing_left(emulate, namespaces)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_ends_it_ends_all(emulate: Emulate, number: signal.Signals) -> None:
    process = emulate.start(*COMMAND)
    emulate.wait_sleeping(3)
    with kept_namespaces(emulate.processes()) as namespaces:
        assert len(namespaces) >= 2
        process.send_signal(number)
        # The far program has no say in it: the exit code is the near one's, as a shell tells it.
        assert process.wait(LONGEST_S) == 128 + number
        check_nothing_left(emulate, namespaces)


def test_the_death_of_each_of_our_own_processes_ends_all(emulate: Emulate) -> None:
    """The one outside, PID 1, and the one that has the relay: those that are Python's."""
    for position in range(3):
        process = emulate.start(*COMMAND)
        emulate.wait_sleeping(3)
        others = ("sleep", "sh")
        ours = sorted(pid for pid, name in emulate.processes().items() if name not in others)
        with kept_namespaces(emulate.processes()) as namespaces:
            os.kill(ours[min(position, len(ours) - 1)], signal.SIGKILL)
            process.wait(LONGEST_S)
            check_nothing_left(emulate, namespaces)


def test_a_closed_terminal_ends_all(emulate: Emulate) -> None:
    main_fd, terminal_fd = os.openpty()
    process = emulate.start_on(terminal_fd, *COMMAND)
    os.close(terminal_fd)
    emulate.wait_sleeping(3)
    with kept_namespaces(emulate.processes()) as namespaces:
        os.close(main_fd)
        process.wait(LONGEST_S)
        check_nothing_left(emulate, namespaces)
