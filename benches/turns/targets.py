"""Which differences are found when two cases are compared for 60 s, and how many that are none.

For each load: the same case twice, and with planted differences, sized by a first look at it; so
the interval of its ratio to itself, and whether what is planted is shown. `--disturbed` measures
the same while other programs take both cores away, `--awake` on cores that do not sleep. `--alike`
has the same case under 25 names, with slices enough for figures in each: of these 300 comparisons,
how many show a difference that is not there.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from msgspec.structs import replace
from pairs import SEED, show_environment
from published.stored import Column, Row, put, read
from published.telling import store, take_into
from turns.cases import BYTES, CONGESTION_CONTROL, ROUNDS, rounds, stream_cases
from turns.disturbing import disturbed
from turns.summing import summed_up

from tinygram_bench import api
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.links import DEFAULT_BACKEND, parse_links, prepare
from tinygram_bench.model.parameters import StreamParameters, StudySwitches
from tinygram_bench.model.result import Case, Plan, Run, Summary, Verdict
from tinygram_bench.runs.slices import SLICE_NS, stream_slice_ns
from tinygram_bench.runs.workload import Workload
from tinygram_bench.statistics.figures.intervals import confidence_of
from tinygram_bench.statistics.figures.samples import Sample, samples_of
from tinygram_bench.statistics.summary import summarise
from tinygram_bench.statistics.verdicts.comparison import verdict_on
from tinygram_bench.statistics.workloads.loads import Load
from tinygram_bench.workloads.echo.run import Echo
from tinygram_bench.workloads.rr.run import Rr
from tinygram_bench.workloads.stream.run import Stream

_PAIR_S = 60
_PAIR_ROUNDS = 12
"""More rounds of the same slices make narrower intervals, and cost more starts of processes."""
_RUNTIMES = ("loop", "threads", "asyncio", "uvloop")
_LINK = "rtt=1ms"
_LINE = "rtt=1ms,bandwidth=100mbit"
"""Flat out the line is the limit, and not what the relay can carry of the smallest packets."""
NAMES = 25
_ALIKE_S = 0.3
_MOST_SPIN_NS = 30_000
"""Where a figure is what other programs do to it, a share of it may be more than a sender has."""
_KINDS = ("disturbed", "awake", "alike")
_SUMMED_UP = {"idle": "half-widths", "disturbed": "half-widths-disturbed"}
"""The table of all loads → that of its figures."""
_P50, _P99, _CPU = "latency_p50_us", "latency_p99_us", "cpu_s_per_million"
_THROUGHPUT = "throughput_per_s"


@dataclass(frozen=True)
class _Compared:
    """A load whose case is compared with itself, and the differences planted in it.

    `planted`: by figure, its share; the sender computes for so much of the figure, a message.
    `is_of_bytes`: its messages are longer by that share instead, for the line is the limit.
    """

    name: str
    workload: Workload
    case: Case
    planted: dict[str, float]
    is_of_bytes: bool = False


_Rows = Callable[[_Compared], Iterator[Sequence[str]]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--disturbed", action="store_true")
    parser.add_argument("--awake", action="store_true")
    parser.add_argument("--alike", action="store_true")
    parser.add_argument(
        "--slice-ms",
        type=int,
        default=SLICE_NS // 10**6,
        help="length of slices without a rate, on loopback",
    )
    parser.add_argument("--only", default="", help="part of the names of the loads to measure")
    take_into(parser)
    asked = parser.parse_args()
    part = ", ".join(name for name in _KINDS if getattr(asked, name)) or "idle"
    if asked.into is not None and asked.awake:
        parser.error("docs/resolution.md has no table of --awake: leave out --into")
    prepare(parse_links([_LINK, _LINE]), DEFAULT_BACKEND)
    with (
        disturbed() if asked.disturbed else nullcontext(),
        cores_awake() if asked.awake else nullcontext(True) as is_permitted,
    ):
        if not is_permitted:
            raise SystemExit("only root may keep the cores awake")
        show_environment(CONGESTION_CONTROL)
        print(part, flush=True)
        heads: tuple[str, ...]
        if asked.alike:
            heads = ("load", "figure", "shown, of", "cannot say", "allowed")
            rows = _measured(heads, asked, _ALIKE_S, _false)
        else:
            heads = ("load", "figure", "beside itself", "half width", "planted", "found as")
            rows = _measured(heads, asked, _PAIR_S / 2 / _PAIR_ROUNDS, _found)
        first, *others = heads
        columns = [Column(each, each, is_text=True) for each in others]
        status = store(asked.into, _bench(asked), part, first, columns, rows, CONGESTION_CONTROL)
        if asked.into is not None and part in _SUMMED_UP:
            put(asked.into, _SUMMED_UP[part], summed_up(read(asked.into).tables[part]))
        return status


def _bench(asked: argparse.Namespace) -> str:
    """What the stored table names as the command that measures it again."""
    words = ["turns.targets", *(f"--{name}" for name in _KINDS if getattr(asked, name))]
    if asked.slice_ms * 10**6 != SLICE_NS:
        words += ["--slice-ms", str(asked.slice_ms)]
    return " ".join(words)


def _measured(
    heads: Sequence[str], asked: argparse.Namespace, seconds: float, rows: _Rows
) -> list[Row]:
    """The rows of the table, which is printed line by line as well."""
    found: list[Row] = []
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}", flush=True)
    for compared in _loads(seconds, asked.slice_ms * 10**6):
        if asked.only in compared.name:
            for row in rows(compared):
                found.append(Row(row[0], dict(zip(heads[1:], row[1:], strict=True))))
                print(f"| {' | '.join(row)} |", flush=True)
    return found


def _found(compared: _Compared) -> Iterator[Sequence[str]]:
    """Each figure's ratio to itself, and to what was planted."""
    case = _planted(compared.case, "", 0)
    cases = [case, _planted(case, "#again", 0)]
    looked_at = _measure(compared.workload, cases, 1, may_fail=False)[case.case_id].sample
    told: dict[str, str] = {}
    for figure, share in compared.planted.items():
        if compared.is_of_bytes:
            cases.append(_longer(case, f"#{figure}", share))
            told[figure] = f"{share:.0%} ({_more_bytes(share)} B)"
        else:
            spin_ns = _spin_ns(looked_at, figure, share)
            cases.append(_planted(case, f"#{figure}", spin_ns))
            told[figure] = _told(share, spin_ns)
    measured = _measure(compared.workload, cases, _PAIR_ROUNDS)
    base, again = measured[case.case_id], measured[f"{case.case_id}#again"]
    for figure in Load.of(case).compared_figures:
        beside_itself = _verdict(figure, base, again)
        ratio = beside_itself.ratio
        if ratio is None or not ratio.median:
            continue
        planted, found = "", ""
        if figure in compared.planted:
            other = measured[f"{case.case_id}#{figure}"]
            found = "; ".join(_shown(_verdict(figure, each, other)) for each in (base, again))
            planted = told[figure]
        half_width = (ratio.high - ratio.low) / 2 / ratio.median
        yield (
            compared.name,
            figure,
            _shown(beside_itself),
            f"{half_width:.1%}",
            planted,
            found,
        )


def _false(compared: _Compared) -> Iterator[Sequence[str]]:
    """How many comparisons of the same case under other names show a difference, by figure."""
    cases = [_planted(compared.case, f"#{number}", 0) for number in range(NAMES)]
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    measured = _measure(compared.workload, cases, ROUNDS)
    for one, other in combinations(measured.values(), 2):
        for figure in Load.of(compared.case).compared_figures:
            verdict = _verdict(figure, one, other)
            if verdict.ratio is not None:
                verdicts[figure][verdict.verdict] += 1
    allowed = 1 - confidence_of(ROUNDS)
    for figure, counts in verdicts.items():
        judged = counts.total() - counts["cannot_say"]
        shown = judged - counts["no_difference_shown"]
        share = f"{shown} of {judged} ({shown / judged:.1%})" if judged else "0 of 0"
        yield (
            compared.name,
            figure,
            share,
            str(counts["cannot_say"]),
            f"{allowed:.1%}, twice that at most",
        )


def _loads(seconds: float, slice_ns: int) -> Iterator[_Compared]:
    """Each load, for so many seconds a round. `slice_ns`: the length of slices without a rate."""
    stream = Stream(SEED)
    for runtime in _RUNTIMES:
        for rate_per_s in (1_000.0, 10_000.0):
            (case,) = stream_cases(
                [f"{runtime}/nodelay"],
                rate_per_s,
                seconds=seconds,
                slice_ns=stream_slice_ns(rate_per_s),
            )
            planted = {_P50: 0.03, _CPU: 0.05}
            if rate_per_s == 10_000:
                planted[_P99] = 0.2
            yield _Compared(f"{runtime} {rate_per_s:,.0f}/s", stream, case, planted)
        (case,) = stream_cases([f"{runtime}/nodelay"], None, seconds=seconds, slice_ns=slice_ns)
        yield _Compared(f"{runtime} flat out", stream, case, {_THROUGHPUT: 0.05})
    for strategy in ("nodelay", "tick"):
        (case,) = stream_cases([f"native/{strategy}"], None, seconds=seconds, slice_ns=slice_ns)
        yield _Compared(f"native/{strategy} flat out", stream, case, {})
    yield _Compared("rr", Rr(SEED), _rr(seconds, slice_ns), {})
    yield _Compared("echo", Echo(SEED), _echo(seconds, slice_ns), {})
    (case,) = stream_cases(["loop/nodelay"], 1_000.0, link=_LINK, seconds=seconds)
    yield _Compared(f"loop 1,000/s, {_LINK}", stream, case, {_P50: 0.03, _CPU: 0.05})
    for link in (_LINK, _LINE):
        (case,) = stream_cases(["loop/nodelay"], None, link=link, seconds=seconds)
        yield _Compared(f"loop flat out, {link}", stream, case, {_THROUGHPUT: 0.05}, link == _LINE)


def _told(share: float, spin_ns: int) -> str:
    """The share that was asked for, and the time that was planted."""
    most = "at most " if spin_ns == _MOST_SPIN_NS else ""
    return f"{most}{share:.0%} ({spin_ns / 1e3:.2f} µs)"


def _spin_ns(sample: Sample, figure: str, share: float) -> int:
    """For how long a message's sender has to compute to change a figure by a share of it."""
    of_slices = sorted(each for each in sample.slices(figure)[0] if each is not None)
    if figure == _THROUGHPUT:
        # In a slice that something stopped, a message seems to take several times as long.
        message_us = 1e6 / of_slices[len(of_slices) * 9 // 10]
    else:
        message_us = median(of_slices)
    return min(_MOST_SPIN_NS, round(share * message_us * 1e3))


def _planted(case: Case, name: str, spin_ns: int) -> Case:
    """The case under another name; without a difference its messages come by the same code."""
    named = replace(case, case_id=f"{case.case_id}{name}")
    if case.workload != "stream" or case.runtime == "native":
        return named
    study = StudySwitches(spin_ns=spin_ns + 1)
    return replace(named, parameters=replace(StreamParameters.of(case), study=study))


def _longer(case: Case, name: str, share: float) -> Case:
    """The case under another name, with messages that are longer by a share."""
    study = StudySwitches(more_bytes=_more_bytes(share))
    parameters = replace(StreamParameters.of(case), study=study)
    return replace(case, case_id=f"{case.case_id}{name}", parameters=parameters)


def _more_bytes(share: float) -> int:
    return round(BYTES * share)


@dataclass(frozen=True)
class _Measured:
    """A case with all its rounds."""

    summary: Summary
    sample: Sample


def _measure(
    workload: Workload, cases: Sequence[Case], number: int, *, may_fail: bool = True
) -> dict[str, _Measured]:
    """Measure the cases side by side in so many rounds; one that fails lacks a round."""
    runs: list[Run] = []
    for of_round in rounds(workload, cases, number, may_fail=may_fail):
        runs += of_round
    plan = Plan(tuple(cases), number, SEED, ())
    samples = samples_of(plan, runs)
    return {
        summary.case.case_id: _Measured(summary, samples[summary.case.case_id])
        for summary in summarise(plan, runs)
    }


def _verdict(figure: str, base: _Measured, other: _Measured) -> Verdict:
    """The verdict that `tinygram` gives."""
    return verdict_on(figure, (base.summary, base.sample), (other.summary, other.sample))


def _shown(verdict: Verdict) -> str:
    """The ratio, and whether a difference is shown."""
    ratio = verdict.ratio
    if ratio is None:
        return "no ratio"
    said = {
        "no_difference_shown": "not shown",
        "cannot_say": f"cannot say: {verdict.doubt}",
    }.get(verdict.verdict, "shown")
    return f"{ratio.median:.3f} ({ratio.low:.3f}–{ratio.high:.3f}), {said}"


def _rr(seconds: float, slice_ns: int) -> Case:
    return api.Plan.rr(
        strategy=["nodelay"],
        connections=["per-caller"],
        sends_per_request=[1],
        request=BYTES,
        reply=BYTES,
        callers="1x1",
        duration=round(seconds * 1e9),
        slice=slice_ns,
        congestion_control=CONGESTION_CONTROL,
        seed=SEED,
    ).cases[0]


def _echo(seconds: float, slice_ns: int) -> Case:
    return api.Plan.echo(
        size=[BYTES],
        workers=1,
        depth=1,
        runtime=["asyncio"],
        strategy=["nodelay"],
        only=["server=protocol"],
        duration=round(seconds * 1e9),
        slice=slice_ns,
        congestion_control=CONGESTION_CONTROL,
        seed=SEED,
    ).cases[0]


if __name__ == "__main__":
    raise SystemExit(main())
