"""The rates of `sizes`, which of its cases are compared, and where a sample's time was spent."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, Run
from tinygram_bench.statistics.figures.spent import Spent, quotients_us
from tinygram_bench.statistics.figures.spreads import spread_of

TIME = "total_p50_us"
"""The figure that cases are compared on, and that the model is fitted to."""


def computed_figures(
    case: Case, run: Run, figures: Mapping[str, float | None]
) -> dict[str, float | None]:
    """The rates by the run's medians: bytes ÷ µs is MB/s (10⁶ bytes).

    `mb_per_s` is the rate of the transfer alone, `total_mb_per_s` that with connect and setup.
    """
    first_ns = run.counters.get("first_sample_ns")
    sample_bytes = case.message_bytes.max * SizesParameters.of(case).round_trips
    return {
        "first_sample_us": None if first_ns is None else first_ns / 1_000,
        "mb_per_s": _rate(sample_bytes, figures.get("transfer_p50_us")),
        "total_mb_per_s": _rate(sample_bytes, figures.get("total_p50_us")),
    }


def is_exchange(case: Case) -> bool:
    """Whether the case takes samples of exchanges in `sizes`, and not of a local part."""
    return isinstance(case.parameters, SizesParameters) and case.parameters.part is None


def _rate(sample_bytes: int, time_us: float | None) -> float | None:
    return sample_bytes / time_us if sample_bytes and time_us else None


def side_by_side(case: Case) -> Hashable:
    """A key that is equal for the cases of a link: all their samples may alternate."""
    return case.link, case.placement, SizesParameters.of(case).server_address


def compared_pairs(cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    """(baseline, case): the way that was named first, for the same cell."""
    baselines: dict[object, Case] = {}
    for case in cases:
        if is_exchange(case):
            asked = SizesParameters.of(case)
            server = asked.server_address
            cell = (case.message_bytes, asked.round_trips, server, case.link, case.placement)
            baseline = baselines.setdefault(cell, case)
            if baseline is not case:
                yield baseline.case_id, case.case_id


def writes_of_the_setup(case: Case) -> str:
    """`one write`, `2 writes`: in which setup and data leave."""
    count = SizesParameters.of(case).setup_writes
    return "one write" if count == 1 else f"{count} writes"


def name_beside(case: Case, other: Case) -> str:
    """The strategy, with how the setup was written where the two differ in that."""
    writes = writes_of_the_setup(case)
    is_alike = writes == writes_of_the_setup(other)
    return case.strategy if is_alike else f"{case.strategy} with setup and data in {writes}"


def arrival_spent(case: Case, run: Run) -> Spent | None:
    """The medians of the whole sample and of its stages, which follow each other without a gap.

    `next_trips`: the second round trip; of more than two, all but the first, together what the
    median transfer has beyond the median first trip: some of them may wait for a delayed
    acknowledgement, and the median one not. None where the run has no samples.
    """
    asked = SizesParameters.of(case)
    medians = {
        stage: None if spread is None else spread.us("p50")
        for stage in ("connect", "setup", "first_trip", "next_trip", "transfer", "total")
        for spread in [spread_of(run, stage)]
    }
    total_us, first_us = medians["total"], medians["first_trip"]
    if total_us is None:
        return None
    parts = {"connect": medians["connect"]}
    # A setup that leaves with the first data is in the first round trip.
    parts["setup"] = 0.0 if asked.setup_writes == 1 and asked.round_trips else medians["setup"]
    if asked.round_trips:
        parts["first_trip"] = first_us
    if asked.round_trips == 2:
        parts["next_trips"] = medians["next_trip"]
    elif asked.round_trips and asked.round_trips > 2:
        transfer_us = medians["transfer"]
        if transfer_us is not None and first_us is not None:
            parts["next_trips"] = transfer_us - first_us
    found = {name: us for name, us in parts.items() if us is not None}
    return Spent(total_us, found, tuple(run.slices.get(TIME, ())))


def cpu_spent(_case: Case, run: Run) -> Spent | None:
    """The CPU time of a sample, and whose it is; the client's alone has no parts.

    The server's is known where it is ours. It is that of a connection, among which are those of the
    samples that are in no figure.
    """
    client = quotients_us(run, {"client": ("cpu_ns", "samples")})
    if not client:
        return None
    server = quotients_us(run, {"server": ("server_cpu_ns", "server_connections")})
    return Spent(sum((client | server).values()), client | server if server else {})
