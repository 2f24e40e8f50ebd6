"""The rates of `sizes`, and which of its cases are compared."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, Run

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
