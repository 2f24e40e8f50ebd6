"""Colours of charts are told apart by readers who lack one of the three kinds of cones, too."""

from __future__ import annotations

from itertools import combinations

import pytest

from tinygram_bench.report.charts.chart import COLOURS

Vector = tuple[float, float, float]

SEEN: dict[str, tuple[Vector, Vector, Vector]] = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Linear RGB → what is seen of it: G. Machado, M. Oliveira, L. Fernandes, A Physiologically-based
Model for Simulation of Color Vision Deficiency, IEEE TVCG 15, 2009, at full severity.
"""
XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
"""Linear RGB → CIE XYZ (IEC 61966-2-1)."""
WHITE = (0.9505, 1.0, 1.089)
APART = 15.0
"""The least distance of two colours in CIE L*a*b*, where 2 can just be seen side by side."""


def times(matrix: tuple[Vector, Vector, Vector], of: Vector) -> Vector:
    x, y, z = (sum(a * b for a, b in zip(row, of, strict=True)) for row in matrix)
    return x, y, z


def linear(colour: str) -> Vector:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return _linear(red), _linear(green), _linear(blue)


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def lab(of: Vector) -> Vector:
    red, green, blue = (min(1.0, max(0.0, each)) for each in of)
    x, y, z = (_root(a / b) for a, b in zip(times(XYZ, (red, green, blue)), WHITE, strict=True))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _root(of: float) -> float:
    return float(of ** (1 / 3)) if of > 0.008856 else 7.787 * of + 16 / 116


def distance(kind: str, one: str, other: str) -> float:
    first, second = (lab(times(SEEN[kind], linear(each))) for each in (one, other))
    return float(sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) ** 0.5)


@pytest.mark.parametrize("kind", SEEN)
def test_every_two_colours_are_told_apart(kind: str) -> None:
    alike = [pair for pair in combinations(COLOURS, 2) if distance(kind, *pair) < APART]
    assert alike == []


def test_a_red_and_a_green_that_are_confused_are_found() -> None:
    assert distance("deuteranopia", "#D55E00", "#8C8C00") < APART
    assert distance("tritanopia", "#D55E00", "#8C8C00") > APART
