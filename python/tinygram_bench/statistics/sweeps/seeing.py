"""What a sweep's choice of points looks at, from the runs that are finished."""

from __future__ import annotations

from collections.abc import Sequence

from tinygram_bench.model.result import Plan, Run
from tinygram_bench.statistics.sweeps.choice import Seen
from tinygram_bench.statistics.sweeps.curves import swept_of
from tinygram_bench.statistics.sweeps.limits import met_at


def seen_in(plan: Plan, runs: Sequence[Run]) -> Seen:
    """What the finished runs show of the plan's sweep. Raises what `samples_of` raises."""
    swept = swept_of(plan, runs)
    limit = swept.sweep.limit
    return Seen(
        values=swept.values,
        figures=tuple(curve.figures for curve in swept.curves),
        signs=(
            *(each.order for each in swept.pairings),
            *(met_at(curve, limit) for curve in swept.curves if limit is not None),
        ),
    )
