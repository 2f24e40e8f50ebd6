"""Student's t: the quantiles that an interval of a difference of means needs.

Source: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 26.7.1 and 26.7.3; the
distribution is integrated in the angle whose tangent is t ÷ √freedom, where it is bounded.
"""

from __future__ import annotations

from math import atan, cos, exp, lgamma, pi, sqrt, tan

_STEPS = 400


def beyond(t: float, freedom: float) -> float:
    """The probability that |T| is larger than `t` with so many degrees of freedom, at least 1."""
    start, end = atan(t / sqrt(freedom)), pi / 2
    scale = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(pi)
    width = (end - start) / _STEPS
    weights = [1, *([4, 2] * (_STEPS // 2))[:-1], 1]
    heights = (cos(start + at * width) ** (freedom - 1.0) for at in range(_STEPS + 1))
    total: float = sum(weight * height for weight, height in zip(weights, heights, strict=True))
    return 2 * scale * total * width / 3


def quantile(outside: float, freedom: float) -> float:
    """The t beyond which |T| is with probability `outside`, by bisection of the angle."""
    low, high = 0.0, pi / 2
    for _ in range(50):
        middle = (low + high) / 2
        if beyond(tan(middle) * sqrt(freedom), freedom) > outside:
            low = middle
        else:
            high = middle
    return tan(low) * sqrt(freedom)
