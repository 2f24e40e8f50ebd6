"""`tinygram trust`: what this machine can tell apart."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from tinygram_bench.cli import options, quantities
from tinygram_bench.cli.bounds import duration_between_ns
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.measuring import status_of
from tinygram_bench.cli.terminal import console
from tinygram_bench.host import noise_floor
from tinygram_bench.host.noise_floor import NoiseFloor
from tinygram_bench.links import DEFAULT_BACKEND, prepare
from tinygram_bench.measurement.measure import Study, measure
from tinygram_bench.model import store
from tinygram_bench.model.result import Case, Plan, Run
from tinygram_bench.processes.interrupts import INTERRUPTS
from tinygram_bench.report.table import Pen
from tinygram_bench.runs.bench import Bench, running
from tinygram_bench.runs.rounds import ordered
from tinygram_bench.runs.slices import SLICE_NS
from tinygram_bench.runs.workload import Workload
from tinygram_bench.statistics.workloads.loads import turns_of
from tinygram_bench.trust import text
from tinygram_bench.trust.both_ways import LINK, LONE
from tinygram_bench.trust.freezing import frozen
from tinygram_bench.trust.judging import judged, noise_floor_of, with_warnings
from tinygram_bench.trust.plan import FROZEN, TRUST, TrustOptions, plan_trust, variant_of
from tinygram_bench.workloads.echo.run import Echo
from tinygram_bench.workloads.rr.run import Rr
from tinygram_bench.workloads.stream.run import Stream

_LONGEST_NS = 600_000_000_000


def trust(
    duration: Annotated[
        int,
        quantities.duration(
            "How long each case has its turns in a round. 3s takes five minutes and compares two "
            "cases for 36 s, 5s takes nine minutes and compares them for 60 s.",
            "3s",
        ),
    ] = 3 * 10**9,
    against_lone: Annotated[
        bool,
        typer.Option(
            "--against-lone",
            help="Also measure every default case of stream (1,000/s, 10,000/s, flat out, and "
            f"1,000/s over {LINK}), rr and echo, in slices and alone, and name those whose figures "
            "differ; takes about half an hour more. Other results are not told what it finds: the "
            "cores are kept awake for the link.",
        ),
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write what was found as a page in Markdown."),
    ] = None,
    rounds: options.Rounds = 6,
    seed: options.Seed = 1,
    json: Annotated[Path | None, options.result_file("trust")] = None,
    anonymous: options.Anonymous = False,
    quiet: options.Quiet = False,
    pin: options.Pin = None,
    congestion_control: options.CongestionControl = None,
    wait: options.Wait = False,
) -> int:
    """Say which differences this machine can tell apart now, and whether it finds planted ones."""
    duration_ns = duration_between_ns("--duration", duration, SLICE_NS, _LONGEST_NS)
    links = options.links([LINK] if against_lone else None, DEFAULT_BACKEND)
    shared = options.shared(rounds, seed, links, pin, congestion_control, None)
    asked = TrustOptions(
        duration_ns=duration_ns,
        rounds=shared["rounds"],
        seed=shared["seed"],
        congestion_control=shared["congestion_control"],
        placement=shared["placement"],
        is_against_lone=against_lone,
    )
    plan = plan_trust(asked)
    destination = options.destination("trust", json, None, anonymous)
    if page is not None:
        store.check_writable(page)
    prepare(links.specs, DEFAULT_BACKEND)
    with ExitStack() as stack:
        workloads: dict[str, Workload] = {
            "stream": Stream(asked.seed),
            "rr": Rr(asked.seed),
            "echo": Echo(asked.seed),
        }
        benches = {
            name: stack.enter_context(running(workload)) for name, workload in workloads.items()
        }
        stack.enter_context(INTERRUPTS.handled())
        measurement = measure(
            plan,
            lambda cases, round: _run_cases(benches[cases[0].workload], cases, round),
            destination,
            is_quiet=quiet,
            is_awake=False,
            waits=wait,
            command=("tinygram", *sys.argv[1:]),
            study=Study({"name": TRUST}, _order, math.inf, with_warnings),
        )
    code = status_of(measurement, destination)
    if measurement.result is None:
        return code
    trusted = judged(measurement.result)
    is_wrong = code == ExitCode.OK and not trusted.is_right
    if is_wrong:
        print(_IS_WRONG, file=sys.stderr)
    if code == ExitCode.OK:
        if not against_lone and not is_wrong:  # Cores may have been kept awake for the link.
            _keep(noise_floor_of(measurement.result, trusted))
        if page is not None:
            store.replace(page, text.page(measurement.result, trusted).encode())
    elif page is not None:
        why = "it was interrupted" if code == ExitCode.INTERRUPTED else "a run failed"
        print(f"tinygram: --page {page} is not written, for {why}", file=sys.stderr)
    if not quiet:
        text.write(Pen(console(is_on_stderr=destination.is_standard_output)), trusted)
        if not destination.is_standard_output:
            print(f"\nSaved: {destination.path}")
    return ExitCode.RUN_FAILED if is_wrong else code


_IS_WRONG = (
    "tinygram: what is known beforehand did not come out (WRONG), so that other results are not "
    "told what this machine resolves: measure again when it is less busy, and if it stays so, do "
    "not rely on its figures"
)


def _keep(floor: NoiseFloor | None) -> None:
    """Keep the noise floor for other results, if it can be stored."""
    if floor is None:
        return
    try:
        noise_floor.keep(floor)
    except (OSError, RuntimeError) as error:
        print(f"tinygram: other results will not tell what is resolved: {error}", file=sys.stderr)


def _order(plan: Plan, round: int, _finished: Sequence[Run]) -> Iterable[Case]:
    """All loads in a random order; the case with a stopped receiver runs only in round 0.

    Of the cases that run both alone and in slices, half run alone before the slices of their load
    and half after them, so that both manners meet the same state of the host.
    """
    in_slices = {case.case_id: turns_of(case) for case in plan.cases}
    loads: dict[Hashable, tuple[list[Case], list[Case]]] = {}
    for case in ordered(plan, round):
        base, variant = variant_of(case.case_id)
        if variant != FROZEN or round == 0:
            key = in_slices[base if variant == LONE else case.case_id]
            loads.setdefault(key, ([], []))[variant == LONE].append(case)
    for sliced, alone in loads.values():
        yield from (*alone[::2], *sliced, *alone[1::2])


def _run_cases(bench: Bench, cases: Sequence[Case], round: int) -> list[Run]:
    if variant_of(cases[0].case_id)[1] == FROZEN:
        return [frozen(bench.run_case, cases[0], round)]
    return bench.run_cases(cases, round)
