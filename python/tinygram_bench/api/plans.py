"""Plans, which the functions of the measuring commands make, and how they are run."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec

from tinygram_bench.api.results import Result
from tinygram_bench.cli.commands.echo import echo
from tinygram_bench.cli.commands.fanout import fanout
from tinygram_bench.cli.commands.rr import rr
from tinygram_bench.cli.commands.sizes import sizes
from tinygram_bench.cli.commands.stream import stream
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.measuring import Asked, measured
from tinygram_bench.model import result as stored
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.store import STANDARD_OUTPUT, Destination

Options = ParamSpec("Options")


class _Nowhere(Destination):
    """Keeps the result in memory only."""

    def check(self) -> None:
        """Do nothing: memory can always be written to."""

    def save(self, result: stored.Result) -> None:
        """Keep `result` in `saved`."""
        self.saved = result


def _planned(command: Callable[Options, Asked | ExitCode]) -> Callable[Options, Plan]:
    """A function that takes the options of `command` and makes a plan of them."""

    @functools.wraps(command)
    def plan(*args: Options.args, **kwargs: Options.kwargs) -> Plan:
        call: Callable[..., Asked | ExitCode] = command
        asked = call(*args, **{"json": STANDARD_OUTPUT, **kwargs})
        if not isinstance(asked, Asked):
            raise UsageError("this lists what there is, and measures nothing: leave it out")
        return Plan(asked)

    return plan


class Plan:
    """What is to be measured: options that have been checked. `run` measures a plan.

    `Plan.stream`, `Plan.rr`, `Plan.echo`, `Plan.sizes` and `Plan.fanout` take the options of the
    commands of these names, such as `Plan.stream(rate=[1_000], runtime=["asyncio"], rounds=8)`;
    `json` is the file in which the result is saved after every round; without it, no file is
    written. They raise UsageError with the text that the command line prints. With a plan over a
    link, the program goes on in a child process in namespaces of its own: make such a plan before
    any thread is started.
    """

    stream = staticmethod(_planned(stream))
    rr = staticmethod(_planned(rr))
    echo = staticmethod(_planned(echo))
    sizes = staticmethod(_planned(sizes))
    fanout = staticmethod(_planned(fanout))

    def __init__(self, asked: Asked) -> None:
        """Make a plan of checked options; programs call the functions above instead."""
        self._asked = asked
        self._is_run = False

    @property
    def cases(self) -> tuple[stored.Case, ...]:
        """The cases that are run in each round."""
        return self._asked.plan.cases

    @property
    def unavailable(self) -> tuple[stored.Unavailable, ...]:
        """The cases that were asked for but cannot run here, each with the reason."""
        return self._asked.plan.unavailable

    @property
    def rounds(self) -> int:
        """How often each case is run, at most."""
        return self._asked.plan.rounds


def run(plan: Plan) -> Result:
    """Measure a plan, with progress on standard error unless the plan is `quiet`.

    A plan can be run once: make another one with the same options to measure again. Call this from
    the main thread, since Ctrl-C is handled meanwhile. A run that fails is in the result with its
    `failure`. Raises UsageError where nothing can be measured or the plan has been run, OutputError
    where the result cannot be saved, and KeyboardInterrupt after Ctrl-C: finished runs are then
    only in the plan's `json` file.
    """
    if plan._is_run:
        # The first run has changed the plan's sweep, its peers and its file.
        raise UsageError("this plan has been run: make another one with the same options")
    plan._is_run = True
    asked = plan._asked
    destination = asked.destination
    if destination.is_standard_output:
        destination = _Nowhere(Path(), is_anonymous=destination.is_anonymous)
    with measured(asked, destination, _program()) as measurement:
        pass
    if measurement.output_error is not None:
        raise measurement.output_error
    if measurement.result is None or measurement.is_interrupted:
        raise KeyboardInterrupt
    return Result(measurement.result)


def _program() -> tuple[str, ...]:
    """The program that called: its name without its folder, and its arguments."""
    name, *arguments = sys.argv or ["python"]
    return (Path(name).name or "python", *arguments)
