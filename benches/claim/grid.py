"""What is measured: the cells, the strategies in each, and the sets of seeds and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import msgspec

from tinygram_bench.host.network.settings import permitted_congestion_control
from tinygram_bench.links.spec import parse_link
from tinygram_bench.model.parameters import StreamParameters, StudySwitches
from tinygram_bench.model.result import Case, MessageBytes
from tinygram_bench.model.value import Value
from tinygram_bench.workloads.stream.cases import StreamOptions, plan_stream

OURS = "adaptive"
LOOPBACK = "loopback"
RUNTIMES = ("loop", "asyncio", "uvloop", "threads")
RATES_PER_S = (1_000.0, 10_000.0, 50_000.0, 200_000.0)
BURSTS = (1, 4, 16, 64)
ARRIVALS = ("constant", "poisson", "onoff")
PRODUCERS = 8
"""Threads that hand messages over in some cells of `threads`; elsewhere one."""
LINKS = ("rtt=1ms,bandwidth=1gbit", "rtt=5ms,bandwidth=1gbit")
"""What lies between the hosts in the cells of grid `links`."""
_PACED_SLICE_NS = 5_000_000
_FLAT_OUT_SLICE_NS = 10_000_000
"""The length of a slice where a cell needs no longer one."""
_OWN_NS = 150_000_000
"""How long each strategy of a cell sends in a round, in all of its slices together."""
_LEAST_CYCLES = 15
"""It has so many slices in any case."""
_LEAST_CYCLES_OVER_LINKS = 6
"""The same over a link, whose slices are two to twenty times as long: with fifteen of them, 25
minutes were five rounds, and the first look is after twelve."""
_LEAST_CYCLES_LONGER = 3
"""The same where longer slices than the grid's are asked for. The CPU time of the last one is not
known, so that two of them are compared."""
_LEAST_MESSAGES = 20
_LEAST_BURSTS = 4
_LEAST_ROUND_TRIPS = 20
_TIMEOUT_NS = 20_000_000_000
_RECEIVE_BUFFER_BYTES = 256 << 10


class Set(Value, frozen=True):
    """Seeds and sizes: one set to tune on, another to confirm with, once.

    A third one, `slices`, is for lost cells of the second one that are measured again: in longer
    slices, and in their own as the control.
    """

    name: str
    seed: int
    small_bytes: int
    large_bytes: int


SETS = {
    "tuning": Set("tuning", 1, 100, 1_000),
    "confirm": Set("confirm", 1_300_001, 90, 1_050),
    "slices": Set("slices", 3_900_011, 90, 1_050),
}


class Cell(Value, frozen=True):
    """One load on one runtime: what the strategies compete in. Flat out without a rate.

    `burst`: of each producer flat out, where there are several. `link`: as `--link` takes it.
    """

    runtime: str
    rate_per_s: float | None
    arrival: str | None
    burst: int
    message_bytes: int
    producers: int = 1
    link: str = LOOPBACK

    @staticmethod
    def of(case: Case) -> Cell:
        """The cell of one of its cases."""
        asked = StreamParameters.of(case)
        return Cell(
            runtime=case.runtime,
            rate_per_s=case.rate_per_s,
            arrival=None if case.arrival is None else str(case.arrival),
            burst=asked.study.flat_out_burst or case.burst or 1,
            message_bytes=case.message_bytes.max,
            producers=case.producers,
            link=case.link,
        )

    @property
    def load(self) -> str:
        """The load alone: `10k/s poisson × 4`."""
        if self.rate_per_s is None:
            text = f"flat out × {self.burst}"
        else:
            text = f"{self.rate_per_s / 1_000:g}k/s {self.arrival} × {self.burst}"
        if self.producers > 1:
            text += f", {self.producers} producers"
        return text if self.link == LOOPBACK else f"{text}, over {self.link}"

    @property
    def name(self) -> str:
        """`asyncio, 10k/s poisson × 4, 100 B`."""
        return f"{self.runtime}, {self.load}, {self.message_bytes} B"

    @property
    def slice_ns(self) -> int:
        """The length of a slice: some messages, bursts and round trips of the link fit into it."""
        least_ns = [_FLAT_OUT_SLICE_NS, _LEAST_ROUND_TRIPS * parse_link(self.link).rtt_ns]
        if self.rate_per_s is not None:
            least_ns[0] = _PACED_SLICE_NS
            messages = max(_LEAST_MESSAGES, _LEAST_BURSTS * self.burst)
            least_ns.append(round(messages / self.rate_per_s * 1e9))
        return max(least_ns)

    @property
    def cycles(self) -> int:
        """How many slices each strategy has in a round."""
        least = _LEAST_CYCLES if self.link == LOOPBACK else _LEAST_CYCLES_OVER_LINKS
        return max(least, _OWN_NS // self.slice_ns)

    @property
    def duration_ns(self) -> int:
        """How long each strategy sends in a round, in all of its slices together."""
        return self.cycles * self.slice_ns

    def slices(self, slice_ms: int | None) -> tuple[int, int]:
        """The length of a slice in ns, and how many each strategy has in a round.

        `slice_ms`: the least length that was asked for; None: the grid's.
        """
        asked_ns = (slice_ms or 0) * 1_000_000
        if asked_ns <= self.slice_ns:
            return self.slice_ns, self.cycles
        return asked_ns, max(_LEAST_CYCLES_LONGER, _OWN_NS // asked_ns)

    @property
    def strategies(self) -> tuple[str, ...]:
        """The fixed ones, then ours."""
        return (*fixed_strategies(self.runtime), OURS)

    def case(self, strategy: str, placement: str, slice_ms: int | None = None) -> Case:
        """The bench's case, which takes turns with the others of the cell (`slices`)."""
        is_paced = self.rate_per_s is not None
        slice_ns, cycles = self.slices(slice_ms)
        options = StreamOptions(
            messages=0,
            message_bytes=MessageBytes(self.message_bytes, self.message_bytes),
            rates_per_s=() if self.rate_per_s is None else (self.rate_per_s,),
            arrival=self.arrival or "constant",
            burst=self.burst,
            duration_ns=cycles * slice_ns,
            receive_buffer_bytes=_RECEIVE_BUFFER_BYTES,
            receiver_command=None,
            congestion_control=permitted_congestion_control(None),
            link=self.link,
            placement=placement,
            timeout_ns=_TIMEOUT_NS,
            rounds=1,
            seed=0,
            has_all=False,
            only=(f"runtime={self.runtime},implementation=tinygram,strategy={strategy}",),
            producers=(self.producers,),
            slice_ns=slice_ns,
        )
        (case,) = plan_stream(options).cases
        study = StudySwitches(
            pacer_sleeps=is_paced,
            flat_out_burst=None if is_paced else self.burst,
            pushes_out=is_paced,
        )
        return msgspec.structs.replace(
            case,
            case_id=f"{self.name}: {strategy}",
            parameters=msgspec.structs.replace(case.parameters, study=study),
        )


def gathering(runtime: str) -> str:
    """What one write gathers: an iteration of a loop, or what came during a write."""
    return "combine" if runtime == "threads" else "tick"


def fixed_strategies(runtime: str) -> tuple[str, ...]:
    """The rivals: the library's own fixed strategies on that runtime."""
    holding = ("coalesce:10us", "coalesce:100us", "coalesce:1ms")
    return ("nodelay", "nagle", gathering(runtime), *holding)


def name_on_all_runtimes(strategy: str) -> str:
    """One name over all runtimes: `combine` is what threads have for `tick`."""
    return "tick or combine" if strategy in ("tick", "combine") else strategy


def full_grid(sizes: Set) -> list[Cell]:
    """What `make claim` measures.

    At 1,000 per second a slice takes several times as long as elsewhere, and whatever comes is
    alone, so there are fewer cells.
    """
    cells = [cell for runtime in RUNTIMES for cell in _full_of(runtime, sizes)]
    return cells + [
        Cell("threads", rate, arrival, burst, sizes.small_bytes, PRODUCERS)
        for rate, arrival, burst in (
            (RATES_PER_S[1], "poisson", 1),
            (RATES_PER_S[2], "poisson", 16),
            (None, None, BURSTS[-1]),
        )
    ]


def _full_of(runtime: str, sizes: Set) -> Iterator[Cell]:
    small, large = sizes.small_bytes, sizes.large_bytes
    for arrival, burst in (("constant", 1), ("poisson", 1), ("poisson", 16), ("onoff", 1)):
        yield Cell(runtime, RATES_PER_S[0], arrival, burst, small)
    for rate, arrival, burst in product(RATES_PER_S[1:], ARRIVALS, BURSTS):
        yield Cell(runtime, rate, arrival, burst, small)
    for burst in BURSTS:
        yield Cell(runtime, None, None, burst, small)
    for rate, burst in product(RATES_PER_S[1:], (1, 16)):
        yield Cell(runtime, rate, "poisson", burst, large)
    yield Cell(runtime, None, None, 16, large)


def quick_grid(sizes: Set) -> list[Cell]:
    """What `make claim-quick` measures: some of the same cells, the long runs on two runtimes."""
    loads: tuple[tuple[float | None, str | None, int], ...] = (
        (1_000.0, "constant", 1),
        (10_000.0, "poisson", 1),
        (50_000.0, "onoff", 16),
        (200_000.0, "poisson", 4),
        (None, None, 1),
        (None, None, 64),
    )
    return [
        Cell(runtime, *load, sizes.small_bytes)
        for runtime in RUNTIMES
        for load in loads
        if load[0] != RATES_PER_S[0] or runtime in ("loop", "threads")
    ]


def links_grid(sizes: Set) -> list[Cell]:
    """What `make claim-links` measures: a part of the loads over each of `LINKS`."""
    loads: tuple[tuple[float | None, str | None, int], ...] = (
        (1_000.0, "constant", 1),
        (10_000.0, "poisson", 1),
        (50_000.0, "onoff", 16),
        (None, None, 16),
    )
    return [
        Cell(runtime, *load, sizes.small_bytes, link=link)
        for link in LINKS
        for runtime in RUNTIMES
        for load in loads
        if load[0] != RATES_PER_S[0] or runtime in ("loop", "threads")
    ]


GRIDS = {"full": full_grid, "quick": quick_grid, "links": links_grid}


def is_run_twice(cell: Cell) -> bool:
    """Whether ours runs beside itself here, to show what chance alone does."""
    return cell.arrival in (None, "poisson") and cell.burst == 1 and cell.producers == 1
