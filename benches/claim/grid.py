"""What is measured: the cells, the strategies in each, and the two sets of seeds and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tinygram._native import scheduled_messages
from tinygram.bench.result import Case, MessageBytes, Parameter, Value
from tinygram.bench.runtimes import MAX_BATCH_BYTES
from tinygram.bench.workloads.stream.cases import WARM_UP_MESSAGES

OURS = "adaptive"
RUNTIMES = ("loop", "asyncio", "uvloop", "threads")
GATHERING = {"threads": "combine"}
"""What one write gathers: an iteration of a loop (`tick`), or what came during a write."""
RATES_PER_S = (1_000.0, 10_000.0, 50_000.0, 200_000.0)
BURSTS = (1, 4, 16, 64)
ARRIVALS = ("constant", "poisson", "onoff")
FLAT_OUT_NS = 40_000_000
"""About how long a run lasts flat out; the number of messages comes from a run before the first
round."""
PILOT_MESSAGES = 8_192
MOST_FLAT_OUT_MESSAGES = 400_000

_DURATION_MS = {1_000.0: 300, 10_000.0: 100, 50_000.0: 50, 200_000.0: 30}
_FEWEST_BURSTS = 8
_TIMEOUT_NS = 20_000_000_000
_RECEIVE_BUFFER_BYTES = 256 << 10


class Set(Value, frozen=True):
    """Seeds and sizes: one set to tune on, another to confirm with, once."""

    name: str
    seed: int
    small_bytes: int
    large_bytes: int


SETS = {
    "tuning": Set("tuning", 1, 100, 1_000),
    "confirm": Set("confirm", 500_001, 120, 900),
}


class Cell(Value, frozen=True):
    """One load on one runtime: what the strategies compete in. Flat out without a rate."""

    runtime: str
    rate_per_s: float | None
    arrival: str | None
    burst: int
    message_bytes: int

    @property
    def load(self) -> str:
        """The load alone: `10k/s poisson × 4`."""
        if self.rate_per_s is None:
            text = f"flat out × {self.burst}"
        else:
            text = f"{self.rate_per_s / 1_000:g}k/s {self.arrival} × {self.burst}"
        return text

    @property
    def name(self) -> str:
        """`asyncio, 10k/s poisson × 4, 100 B`."""
        return f"{self.runtime}, {self.load}, {self.message_bytes} B"

    @property
    def duration_ns(self) -> int:
        """Of a paced run: longer where messages or bursts would be too few for a p99."""
        assert self.rate_per_s is not None, "flat out"
        bursts_ns = _FEWEST_BURSTS * self.burst / self.rate_per_s * 1e9
        return max(_DURATION_MS[self.rate_per_s] * 1_000_000, round(bursts_ns))

    @property
    def strategies(self) -> tuple[str, ...]:
        """The fixed ones, then ours."""
        return (*fixed_strategies(self.runtime), OURS)

    def case(self, strategy: str, placement: str, messages: int = PILOT_MESSAGES) -> Case:
        """The bench's case; `messages` counts flat out only."""
        parameters: dict[str, Parameter] = {
            "messages": messages,
            "warm_up_messages": WARM_UP_MESSAGES,
            "max_batch_bytes": MAX_BATCH_BYTES,
            "receive_buffer_bytes": _RECEIVE_BUFFER_BYTES,
            "receiver_command": None,
            "congestion_control": "cubic",
            "timeout_ns": _TIMEOUT_NS,
            "busy_thread": False,
        }
        if self.rate_per_s is None:
            parameters["flat_out_burst"] = self.burst
        else:
            parameters["duration_ns"] = self.duration_ns
            parameters["messages"] = self.scheduled_messages()
        return Case(
            case_id=f"{self.name}: {strategy}",
            workload="stream",
            runtime=self.runtime,
            implementation="tinygram",
            strategy=strategy,
            link="loopback",
            message_bytes=MessageBytes(self.message_bytes, self.message_bytes),
            rate_per_s=self.rate_per_s,
            arrival=self.arrival,
            burst=None if self.rate_per_s is None else self.burst,
            producers=1,
            connections=1,
            placement=placement,
            parameters=parameters,
        )

    def scheduled_messages(self) -> int:
        """How many messages a paced run has."""
        assert self.rate_per_s is not None
        assert self.arrival is not None
        return scheduled_messages(self.rate_per_s, self.arrival, self.burst, self.duration_ns, 0)


def fixed_strategies(runtime: str) -> tuple[str, ...]:
    """The rivals: the library's own fixed strategies on that runtime."""
    gathering = GATHERING.get(runtime, "tick")
    return ("nodelay", "nagle", gathering, "coalesce:10us", "coalesce:100us", "coalesce:1ms")


def single(strategy: str) -> str:
    """One name over all runtimes: `combine` is what threads have for `tick`."""
    return "tick or combine" if strategy in ("tick", "combine") else strategy


def full_grid(sizes: Set) -> list[Cell]:
    """What `make claim` measures.

    At 1,000 per second a run takes many times as long as elsewhere, and whatever comes is alone, so
    there are fewer cells.
    """
    return [cell for runtime in RUNTIMES for cell in _full_of(runtime, sizes)]


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
    """What `make claim-quick` measures: some of the same cells."""
    loads: tuple[tuple[float | None, str | None, int], ...] = (
        (1_000.0, "constant", 1),
        (10_000.0, "poisson", 1),
        (50_000.0, "onoff", 16),
        (200_000.0, "poisson", 4),
        (None, None, 1),
        (None, None, 64),
    )
    return [Cell(runtime, *load, sizes.small_bytes) for runtime in RUNTIMES for load in loads]


GRIDS = {"full": full_grid, "quick": quick_grid}


def is_run_twice(cell: Cell) -> bool:
    """Whether some strategies run twice here, to show what chance alone does."""
    return cell.arrival in (None, "poisson") and cell.burst in (1, 16)


TWICE = (OURS, "nodelay")
"""The strategies that are compared with themselves."""


def is_run_cold(cell: Cell) -> bool:
    """Whether fresh processes run it, too, to show that warm ones give the same figures."""
    is_alone = cell.arrival == "poisson" and cell.burst == 1
    return is_alone and cell.rate_per_s in RATES_PER_S[1:3] and cell.runtime in RUNTIMES[:2]


COLD = (OURS, "nodelay")
"""The strategies that fresh processes run, too."""
