"""Two measurements side by side in one run: interleaved pairs, the median ratio, its interval."""

from __future__ import annotations

import importlib.metadata
import random
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from msgspec.structs import replace

from tinygram_bench.host.probes.environment import environment
from tinygram_bench.model.result import Case, Figure, MessageBytes, Run
from tinygram_bench.runs.bench import Bench, running
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.workloads.stream.cases import StreamOptions, plan_stream
from tinygram_bench.workloads.stream.run import Stream

SEED = 1
T = TypeVar("T")


def flat_out_case(
    only: str,
    messages: int,
    *,
    size: MessageBytes | None = None,
    receiver_command: str | None = None,
    congestion_control: str = "cubic",
) -> Case:
    """The one case that `tinygram stream --only ONLY` runs flat out, both ends apart."""
    options = replace(
        stream_options(only),
        messages=messages,
        receiver_command=receiver_command,
        congestion_control=congestion_control,
    )
    return only_case(options if size is None else replace(options, message_bytes=size))


def stream_options(only: str) -> StreamOptions:
    """The options of `tinygram stream --only ONLY` on loopback, both ends apart.

    No number of messages, rate or duration is in them: the caller says which of these there are.
    """
    return StreamOptions(
        messages=0,
        message_bytes=MessageBytes(1, 500),
        rates_per_s=(),
        arrival="constant",
        burst=1,
        duration_ns=0,
        receive_buffer_bytes=256 << 10,
        receiver_command=None,
        congestion_control="cubic",
        link="loopback",
        placement="apart",
        timeout_ns=60_000_000_000,
        rounds=1,
        seed=SEED,
        has_all=False,
        only=[only],
    )


def only_case(options: StreamOptions) -> Case:
    """The case of options that select one."""
    (case,) = plan_stream(options).cases
    return case


@contextmanager
def bench() -> Iterator[Bench]:
    """A bench over the seed that all scripts here share."""
    with running(Stream(SEED)) as made:
        yield made


def measured(run: Run) -> dict[str, int]:
    """The known counters of a run that must not have failed."""
    if run.failure is not None:
        raise SystemExit(f"{run.case_id} failed: {run.failure}")
    return {name: value for name, value in run.counters.items() if value is not None}


def bytes_per_s(run: Run) -> float:
    """Payload bytes per second of the measured part of a run."""
    counters = measured(run)
    return counters["bytes"] / counters["run_time_ns"] * 1e9


def paired_ratio(first: Callable[[], float], second: Callable[[], float], pairs: int) -> Figure:
    """first ÷ second, pair by pair, the order within a pair alternating; one pair warms up."""
    ratios = []
    for pair in range(pairs + 1):
        if pair % 2:
            a = first()
            b = second()
        else:
            b = second()
            a = first()
        ratios.append(a / b)
    return figure_of(ratios[1:])


def side_by_side(
    sides: Mapping[str, Callable[[], T]], rounds: int, dice: random.Random | None = None
) -> dict[str, list[T]]:
    """Every side once per round, in random order; the values of all rounds, by side.

    One more round warms up. What has slices takes turns by this, too: its rounds are cycles, and
    their order is drawn with `dice`.
    """
    order = list(sides)
    dice = dice or random.Random(SEED)
    values: dict[str, list[T]] = {name: [] for name in order}
    for round in range(rounds + 1):
        dice.shuffle(order)
        for name in order:
            value = sides[name]()
            if round:
                values[name].append(value)
    return values


def show_environment(congestion_control: str) -> None:
    """Print the machine on which this is measured, and the command."""
    print(environment_words(congestion_control))
    print(shlex.join(sys.orig_argv), flush=True)


def environment_words(congestion_control: str) -> str:
    """The machine on which this is measured."""
    facts = environment(congestion_control)
    is_awake = facts["cpu_latency_limit_us"] == 0
    cores = "kept awake" if is_awake else "that may sleep while idle"
    machine = f"Linux {facts['kernel']}, {facts['cpu_model']}, {facts['cores']} cores {cores}"
    versions = f"uvloop {facts['uvloop']}, aiofastnet {importlib.metadata.version('aiofastnet')}"
    return f"{machine}; {facts['python']}, {versions}; {facts['congestion_control']}"


def at_least(found: Figure, asked: float) -> bool | None:
    """Whether it is; None where the interval has `asked` inside."""
    return None if found.low < asked <= found.high else found.median >= asked


def at_most(found: Figure, asked: float) -> bool | None:
    """Whether it is; None where the interval has `asked` inside."""
    return None if found.low <= asked < found.high else found.median <= asked


def verdict(what: str, is_reached: bool | None, figures: str) -> bool:
    """Print one line of a target; whether it was reached. None: it cannot be said."""
    word = "cannot say" if is_reached is None else "reached" if is_reached else "MISSED"
    print(f"{word:10} {what}: {figures}", flush=True)
    return is_reached is True


def shown(ratio: Figure) -> str:
    return f"{ratio.median:.3f} ({ratio.low:.3f}-{ratio.high:.3f})"
