"""Named scenarios: what is known to happen, and the ranges that figures must be in if it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan, Result
from tinygram_bench.statistics.samples import samples_of
from tinygram_bench.statistics.verdicts import paired_ratios
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr

ROUNDS = 3
_ANY = float("inf")


@dataclass(frozen=True)
class Expected:
    """A figure of one variant, or its ratio to that `over` another, from `low` to `high`."""

    figure: str
    of: str
    low: float
    high: float
    over: str | None = None


@dataclass(frozen=True)
class Scenario:
    """Variants of one situation: name → the options that it does not share with the others.

    `callers`: in each process, unless another number is asked for.
    """

    about: str
    shared: Mapping[str, Any]
    variants: Mapping[str, Mapping[str, Any]]
    expected: tuple[Expected, ...]
    callers: int = RrOptions().callers


@dataclass(frozen=True)
class Finding:
    """What came of one expectation; `value` None: not known."""

    expected: Expected
    value: float | None

    @property
    def is_as_expected(self) -> bool:
        """Whether the value is known, and in the range."""
        return self.value is not None and self.expected.low <= self.value <= self.expected.high

    @property
    def is_known(self) -> bool:
        """Whether there is a value: the kernel's counts are not known on the host's network."""
        return self.value is not None

    @property
    def text(self) -> str:
        """One line."""
        expected = self.expected
        what = f"{expected.figure} of {expected.of}"
        if expected.over is not None:
            what += f" ÷ that of {expected.over}"
        span = _range(expected.low, expected.high)
        if self.value is None:
            return f"{what}: not known here ({span})"
        verdict = "as expected" if self.is_as_expected else "OUT OF RANGE"
        return f"{what}: {_number(self.value)}, {verdict} ({span})"


# 40 ms (TCP_DELACK_MIN), the next tick of the kernel, 4 ms at 250 Hz, and a busy host's waking up.
# What is sent again, the other long wait, takes 200 ms and more.
_DELAYED_ACK_US = (40_000, 60_000)

# A hundred callers wait for a core as well, and a stall is longer by that.
_FEW_CALLERS = 10

_NATIVE = {"runtimes": ("native",), "servers": ("native",)}
_CLIENTS = {"nagle": {"strategies": ("nagle",)}, "nodelay": {"strategies": ("nodelay",)}}

SCENARIOS: Mapping[str, Scenario] = {
    "delayed-ack-stall": Scenario(
        "Nagle waits for the ACK that the server delays: each call of ten sends takes 40 ms",
        {**_NATIVE, "connections": ("per-caller",), "sends_per_request": (10,)},
        _CLIENTS,
        (
            Expected("call_p50_us", "nagle", *_DELAYED_ACK_US),
            Expected("calls_per_s", "nodelay", 3, _ANY, over="nagle"),
        ),
        _FEW_CALLERS,
    ),
    "quick-ack": Scenario(
        "a new connection's first ACKs are not delayed: a connection per request hides the stall",
        {**_NATIVE, "connections": ("per-request",), "sends_per_request": (10,)},
        _CLIENTS,
        (
            Expected("calls_per_s", "nodelay", 0.5, 2, over="nagle"),
            Expected("call_p50_us", "nagle", 0, 39_000),
        ),
    ),
    "one-write": Scenario(
        "a request that is one write waits for nothing: Nagle makes no difference",
        {**_NATIVE, "connections": ("per-caller",), "sends_per_request": (1,)},
        _CLIENTS,
        (Expected("calls_per_s", "nodelay", 0.8, 1.25, over="nagle"),),
    ),
    "backlog-overflow": Scenario(
        "a full accept queue drops SYNs, which are sent again after a second, then two, four, …",
        {
            **_NATIVE,
            "connections": ("per-request",),
            "sends_per_request": (1,),
            "strategies": ("nodelay",),
            # One core, so that all callers come before the server has its turn.
            "placement": "same",
        },
        {"backlog 50": {"backlogs": (50,)}, "backlog 1024": {"backlogs": (1024,)}},
        (
            Expected("listen_overflows", "backlog 50", 1, _ANY),
            Expected("connect_max_us", "backlog 50", 900_000, 130_000_000),
            Expected("listen_overflows", "backlog 1024", 0, 0),
            Expected("connect_max_us", "backlog 1024", 0, 500_000),
        ),
    ),
    "server-side": Scenario(
        "the server's TCP_NODELAY is about its replies: the callers' stall stays",
        {
            **_NATIVE,
            "connections": ("per-caller",),
            "sends_per_request": (10,),
            "strategies": ("nagle",),
        },
        {
            "nagle on the server": {"server_strategies": ("nagle",)},
            "nodelay on the server": {"server_strategies": ("nodelay",)},
        },
        (
            Expected("calls_per_s", "nodelay on the server", 0.8, 1.25, over="nagle on the server"),
            Expected("call_p50_us", "nodelay on the server", *_DELAYED_ACK_US),
        ),
        _FEW_CALLERS,
    ),
}


def callers_of(name: str) -> int:
    """The callers in each process that the scenario asks for. Raises UsageError."""
    return _scenario(name).callers


def plan_scenario(name: str, options: RrOptions) -> tuple[Plan, dict[str, str]]:
    """The scenario's plan, and variant → case_id. Raises UsageError."""
    scenario = _scenario(name)
    cases = {
        variant: plan_rr(replace(options, **{**scenario.shared, **changes})).cases[0]
        for variant, changes in scenario.variants.items()
    }
    plan = Plan(tuple(cases.values()), options.rounds, options.seed)
    return plan, {variant: case.case_id for variant, case in cases.items()}


def _scenario(name: str) -> Scenario:
    scenario = SCENARIOS.get(name)
    if scenario is None:
        raise UsageError(f"unknown scenario {name!r}: the known ones are {', '.join(SCENARIOS)}")
    return scenario


def findings(name: str, case_ids: Mapping[str, str], result: Result) -> tuple[Finding, ...]:
    """What came of each expectation of the scenario; medians over the rounds.

    A ratio is formed round by round: what drifts over the rounds is in both of its values.
    """
    by_id = {summary.case.case_id: summary for summary in result.summaries}
    samples = samples_of(result.plan, result.runs)

    def value_of(variant: str, figure: str) -> float | None:
        found = by_id[case_ids[variant]].figures.get(figure)
        return None if found is None else found.median

    found = []
    for expected in SCENARIOS[name].expected:
        if expected.over is None:
            value = value_of(expected.of, expected.figure)
        else:
            base, own = (samples[case_ids[each]] for each in (expected.over, expected.of))
            ratios = paired_ratios(base.values(expected.figure), own.values(expected.figure))
            value = median(ratios) if ratios else None
        found.append(Finding(expected, value))
    return tuple(found)


def listing() -> str:
    """Every scenario: its name, what it shows, what is expected."""
    lines = []
    for name, scenario in SCENARIOS.items():
        lines.append(f"{name}: {scenario.about}")
        for expected in scenario.expected:
            over = "" if expected.over is None else f" ÷ that of {expected.over}"
            span = _range(expected.low, expected.high)
            lines.append(f"    {expected.figure} of {expected.of}{over}: {span}")
    return "\n".join(lines)


def _range(low: float, high: float) -> str:
    if high == _ANY:
        return f"expected {_number(low)} or more"
    span = _number(low) if low == high else f"{_number(low)} … {_number(high)}"
    return f"expected {span}"


def _number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0") if value >= 100 else f"{value:.3g}"
