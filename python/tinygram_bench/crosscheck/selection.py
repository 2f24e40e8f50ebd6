"""The choice of programs that run beside a plan: those that are installed and do the same work."""

from __future__ import annotations

import shutil
import subprocess

from msgspec import Struct

from tinygram_bench.crosscheck.iperf3 import IPERF3
from tinygram_bench.crosscheck.nuttcp import NUTTCP
from tinygram_bench.crosscheck.peer import Program, Setting, Work
from tinygram_bench.crosscheck.qperf import QPERF
from tinygram_bench.crosscheck.sockperf import SOCKPERF
from tinygram_bench.host.network import private_network
from tinygram_bench.model.cross_check import AbsentPeer, Peer
from tinygram_bench.model.result import Case, Plan
from tinygram_bench.statistics.workloads.loads import is_limit

PROGRAMS = (SOCKPERF, IPERF3, NUTTCP, QPERF)
SECONDS = 1
"""How long a peer works in each round: all programs take whole seconds only."""

_VERSION_LIMIT_S = 5.0
_ABILITY = {"stream": "does not send one way", "rr": "does not call and wait for a reply"}


class Chosen(Struct, frozen=True):
    """A peer that runs, and our case that does the same."""

    peer: Peer
    setting: Setting
    case: Case


def choose(plan: Plan) -> tuple[tuple[Chosen, ...], tuple[AbsentPeer, ...]]:
    """The peers that run, and the absent ones with the reason. A plan has one workload and size."""
    workload, size = plan.cases[0].workload, plan.cases[0].message_bytes.max
    chosen: list[Chosen] = []
    absent: list[AbsentPeer] = []
    for program in PROGRAMS:
        reason = _missing(program, workload, size)
        if reason is not None:
            absent.append(AbsentPeer(program.name, reason))
            continue
        version = _version(program)
        for setting in program.settings[workload]:
            case = _counterpart(plan, setting)
            if case is not None:
                chosen.append(Chosen(_peer(program, version, setting, case), setting, case))
    return tuple(chosen), tuple(absent)


def work_of(case: Case, port: int, data_port: int) -> Work:
    """The work for a peer that does what `case` does."""
    return Work(
        message_bytes=case.message_bytes.max,
        seconds=SECONDS,
        port=port,
        data_port=data_port,
        congestion_control=case.parameters.congestion_control,
    )


def _missing(program: Program, workload: str, size: int) -> str | None:
    smallest, largest = program.sizes
    if workload not in program.settings:
        return _ABILITY[workload]
    if shutil.which(program.name) is None:
        return f"is not installed: apt-get install {program.name}"
    if not smallest <= size <= largest:
        return f"takes messages of {smallest:,} to {largest:,} bytes, and these have {size:,}"
    if program.listens_everywhere and not _has_private_network():
        return "listens on all addresses, and no private network is permitted here"
    return None


def _has_private_network() -> bool:
    with private_network() as network:
        return network.is_private


def _counterpart(plan: Plan, setting: Setting) -> Case | None:
    for case in plan.cases:
        if is_limit(case) and case.strategy == setting.strategy:
            return case
    return None


def _peer(program: Program, version: str | None, setting: Setting, case: Case) -> Peer:
    return Peer(
        peer_id=f"{program.name}/{setting.name}",
        program=program.name,
        version=version,
        case_id=case.case_id,
        figure=setting.figure,
        # The ports differ from run to run.
        command=tuple(setting.client(work_of(case, 0, 0))),
        batching=setting.batching,
        meaning=setting.meaning,
        differences=setting.differences,
    )


def _version(program: Program) -> str | None:
    """The first line of the program's version text; None where it has none or does not answer."""
    try:
        done = subprocess.run(
            [program.name, program.version_option],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (done.stdout or done.stderr).decode(errors="replace").strip().splitlines()
    return lines[0].strip()[:100] if lines else None
