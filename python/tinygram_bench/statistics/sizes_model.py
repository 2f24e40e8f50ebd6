"""The model of `sizes`: time = setup + trips × (latency + bytes ÷ bandwidth), fitted robustly.

Sources: R. W. Hockney, "The communication challenge for MPP" (Parallel Computing 20, 1994), for the
model and n½; P. J. Huber, Robust Statistics, §7, for the weights. What is made small is the
*relative* error, since samples of 30 µs and of 3 ms have errors in proportion to their times; an
error beyond 1.345 standard deviations counts in proportion to its size, no longer to its square, so
that a few cells that the model does not hold for do not bend it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import median

from msgspec import Struct

_HUBER = 1.345
_DEVIATION_PER_MEDIAN = 1.4826
_LEAST_LIMIT = 1e-6
"""Relative errors below this are rounding."""
_MAX_STEPS = 100
_SETTLED = 1e-9
_LEAST_PIVOT = 1e-9
"""Below this pivot, in a matrix whose diagonal is 1, columns do not differ."""


class Point(Struct, frozen=True):
    """One cell: how long a sample took, in µs."""

    size_bytes: int
    trips: int
    time_us: float


class Model(Struct, frozen=True):
    setup_us: float
    latency_us: float
    us_per_byte: float

    def time_us(self, size_bytes: float, trips: int) -> float:
        """The time of a sample, its connect and setup included."""
        return self.setup_us + trips * (self.latency_us + size_bytes * self.us_per_byte)

    def residual(self, point: Point) -> float:
        """How much longer the cell took than the model says, as a share of what it took."""
        return 1 - self.time_us(point.size_bytes, point.trips) / point.time_us

    @property
    def mb_per_s(self) -> float | None:
        """The bandwidth in MB/s (10⁶ bytes); None where larger messages take no longer."""
        return 1 / self.us_per_byte if self.us_per_byte > 0 else None

    @property
    def n_half_bytes(self) -> float | None:
        """n½: the size from which a round trip reaches half of the bandwidth."""
        if self.us_per_byte <= 0 or self.latency_us <= 0:
            return None
        return self.latency_us / self.us_per_byte

    @property
    def n90_bytes(self) -> float | None:
        """The size from which a round trip reaches nine tenths: n ÷ (n + n½) = 0.9."""
        return None if self.n_half_bytes is None else 9 * self.n_half_bytes


def fitted(points: Sequence[Point]) -> Model | None:
    """The model of these cells, whose times are above 0.

    None where the cells do not tell its parameters apart: that takes two counts of round trips, and
    two sizes with any round trips.
    """
    weights = [1.0] * len(points)
    model = None
    for _ in range(_MAX_STEPS):
        found = _least_squares(points, weights)
        if found is None:
            return None
        if model is not None and _is_settled(model, found, points):
            return found
        model = found
        errors = [abs(model.residual(point)) for point in points]
        limit = max(_HUBER * _DEVIATION_PER_MEDIAN * median(errors), _LEAST_LIMIT)
        weights = [1.0 if error <= limit else limit / error for error in errors]
    return model


def _is_settled(before: Model, now: Model, points: Sequence[Point]) -> bool:
    moved = (abs(before.residual(point) - now.residual(point)) for point in points)
    return max(moved) < _SETTLED


def _least_squares(points: Sequence[Point], weights: Sequence[float]) -> Model | None:
    """Minimise Σ weight × (1 − modelled ÷ measured)²."""
    rows = [
        tuple(value / point.time_us for value in (1, point.trips, point.trips * point.size_bytes))
        for point in points
    ]
    scales = [
        sqrt(sum(w * row[at] ** 2 for w, row in zip(weights, rows, strict=True))) for at in range(3)
    ]
    if not all(scales):
        return None
    scaled = [[row[at] / scales[at] for at in range(3)] for row in rows]
    weighted = list(zip(weights, scaled, strict=True))
    matrix = [
        [
            *(sum(w * row[i] * row[j] for w, row in weighted) for j in range(3)),
            sum(w * row[i] for w, row in weighted),
        ]
        for i in range(3)
    ]
    solution = _solved(matrix)
    if solution is None:
        return None
    return Model(*(value / scale for value, scale in zip(solution, scales, strict=True)))


def _solved(matrix: list[list[float]]) -> list[float] | None:
    """Gauss–Jordan with row pivots on a matrix with its right side; None where it is singular."""
    size = len(matrix)
    for at in range(size):
        pivot = max(range(at, size), key=lambda row: abs(matrix[row][at]))
        matrix[at], matrix[pivot] = matrix[pivot], matrix[at]
        if abs(matrix[at][at]) < _LEAST_PIVOT:
            return None
        matrix[at] = [value / matrix[at][at] for value in matrix[at]]
        for row in range(size):
            if row != at:
                factor = matrix[row][at]
                matrix[row] = [
                    value - factor * above
                    for value, above in zip(matrix[row], matrix[at], strict=True)
                ]
    return [row[-1] for row in matrix]
