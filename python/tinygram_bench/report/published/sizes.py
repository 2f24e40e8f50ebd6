"""The published measurements beside ours, by the same model, fitted to one number per cell.

Source of `sizes.csv`: measurements for a lecture over four networks. Each total is from one series,
without an interval, and the first cells include start-up.
"""

from __future__ import annotations

from tinygram_bench.report.numbers import UNKNOWN, number, size
from tinygram_bench.report.published import published_rows
from tinygram_bench.report.table import Column, Row, Table
from tinygram_bench.statistics.sizes_model import Model, Point, fitted

_COLUMNS = (
    Column("network"),
    Column("setup\nµs"),
    Column("latency\nµs"),
    Column("MB/s"),
    Column("half the\nMB/s at"),
    Column("90 % of\nMB/s at"),
    Column("furthest\ncell %"),
)

_NOTES = (
    "measured for a lecture over four networks, on other machines: only shapes and ratios can be "
    "set beside ours",
    "each cell is the total of one series, without an interval; start-up is in the first ones",
)


def published_points() -> dict[str, list[Point]]:
    """Network → its cells, in the published order."""
    points: dict[str, list[Point]] = {}
    for row in published_rows("sizes"):
        point = Point(int(row["bytes"]), int(row["round_trips"]), float(row["total_ms"]) * 1_000)
        points.setdefault(row["network"], []).append(point)
    return points


def published_table() -> Table:
    rows = [_row(network, fitted(points), points) for network, points in published_points().items()]
    return Table("The published measurements, by the same model", _COLUMNS, tuple(rows), _NOTES)


def _row(network: str, model: Model | None, points: list[Point]) -> Row:
    if model is None:
        return Row((network, *[UNKNOWN] * (len(_COLUMNS) - 1)), "absent")
    half, most = model.n_half_bytes, model.n90_bytes
    furthest = max((model.residual(point) for point in points), key=abs)
    return Row(
        (
            network,
            number(model.setup_us),
            number(model.latency_us),
            number(model.mb_per_s),
            UNKNOWN if half is None else size(half),
            UNKNOWN if most is None else size(most),
            f"{100 * furthest:+.0f}",
        )
    )
