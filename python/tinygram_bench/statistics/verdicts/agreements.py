"""Whether other programs agree with ours: their figure ÷ ours, round by round."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tinygram_bench.model.cross_check import Peer, PeerRun
from tinygram_bench.model.result import Case, Figure, Result, Run
from tinygram_bench.statistics.figures.intervals import confidence_of, figure_of, looks_of
from tinygram_bench.statistics.figures.samples import samples_of
from tinygram_bench.statistics.verdicts.comparison import paired_ratios
from tinygram_bench.statistics.verdicts.doubts import MIN_PAIRED_ROUNDS
from tinygram_bench.statistics.workloads import WORKLOADS

AGREES_WITHIN = 0.10


class Agreement(Struct, frozen=True):
    """A peer beside our case. Figures are None where no round has them; `confidence` is that
    of `ratio`.

    `segments` and `our_segments`: how many both ends sent per message, ACKs included; None where
    the kernel's counters are not known.
    """

    peer: Peer
    case: Case
    value: Figure | None
    our_value: Figure | None
    ratio: Figure | None
    paired_rounds: int
    confidence: float
    segments: float | None
    our_segments: float | None
    failures: tuple[str, ...]
    rounds: int

    @property
    def is_close(self) -> bool | None:
        """True: the whole interval is within 10 %; False: it is beyond; None: it cannot be said."""
        if self.ratio is None or not self.has_enough_rounds:
            return None
        low, high = self.ratio.low - 1, self.ratio.high - 1
        if low >= -AGREES_WITHIN and high <= AGREES_WITHIN:
            return True
        return False if high < -AGREES_WITHIN or low > AGREES_WITHIN else None

    @property
    def has_enough_rounds(self) -> bool:
        return self.paired_rounds >= MIN_PAIRED_ROUNDS


def agreements_of(result: Result) -> tuple[Agreement, ...]:
    """One agreement for each peer, in the order of the result."""
    if result.cross_check is None:
        return ()
    samples, looks = samples_of(result.plan, result.runs), looks_of(result.plan)
    found = []
    for peer in result.cross_check.peers:
        runs = [run for run in result.cross_check.runs if run.peer_id == peer.peer_id]
        theirs = {run.round: run.value for run in runs if run.value is not None}
        sample = samples[peer.case_id]
        ours = sample.values(peer.figure)
        ratios = paired_ratios(ours, theirs)
        found.append(
            Agreement(
                peer=peer,
                case=sample.case,
                value=_figure(tuple(theirs.values()), looks),
                our_value=_figure(tuple(ours.values()), looks),
                ratio=_figure(ratios, looks),
                paired_rounds=len(ratios),
                confidence=confidence_of(len(ratios), looks),
                segments=_segments(runs, "messages"),
                our_segments=_segments(sample.good_runs, WORKLOADS[sample.case.workload].unit),
                failures=tuple(run.failure for run in runs if run.failure is not None),
                rounds=len(runs),
            )
        )
    return tuple(found)


def _figure(values: Sequence[float], looks: int) -> Figure | None:
    return figure_of(values, looks) if values else None


def _segments(runs: Sequence[Run] | Sequence[PeerRun], counted: str) -> float | None:
    """Segments per message or call, of all runs together."""
    pairs = [(run.counters.get("kernel_OutSegs"), run.counters.get(counted)) for run in runs]
    known = [(segments, count) for segments, count in pairs if segments is not None and count]
    if not known:
        return None
    return sum(segments for segments, _ in known) / sum(count for _, count in known)
