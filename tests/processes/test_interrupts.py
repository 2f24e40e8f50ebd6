"""Ctrl-C is raised once, and held back while the main thread asks for that."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from tinygram_bench.processes.interrupts import Interrupts


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_what_comes_in_a_held_block_is_raised_at_the_end_of_the_outermost() -> None:
    interrupts, reached = Interrupts(), []

    def within() -> None:
        with interrupts.held():
            with interrupts.held():
                interrupt()
            reached.append("the end of the inner block")
        reached.append("what follows the outer block")

    with interrupts.handled(), pytest.raises(KeyboardInterrupt):
        within()
    assert reached == ["the end of the inner block"]


def test_blocks_of_other_threads_that_end_in_any_order_hold_nothing_back() -> None:
    interrupts = Interrupts()
    entered, left = [threading.Event() for _ in range(2)], [threading.Event() for _ in range(2)]

    def hold(number: int) -> None:
        with interrupts.held():
            entered[number].set()
            assert left[number].wait(60)

    threads = [threading.Thread(target=hold, args=(number,)) for number in range(2)]
    for thread, has_entered in zip(threads, entered, strict=True):
        thread.start()
        assert has_entered.wait(60)
    for thread, may_leave in zip(threads, left, strict=True):
        may_leave.set()
        thread.join()
    with interrupts.handled(), pytest.raises(KeyboardInterrupt):
        interrupt()


def test_it_is_raised_once() -> None:
    interrupts = Interrupts()
    with interrupts.handled():
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        interrupt()
