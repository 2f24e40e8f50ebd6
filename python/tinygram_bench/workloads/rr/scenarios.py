"""Named scenarios of known effects, and the ranges of the figures that show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan
from tinygram_bench.statistics.verdicts.expectations import ANY, Expected
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr

ROUNDS = 3


class Scenario(Struct, frozen=True):
    """Variants of one situation: name → the options that it does not share with the others.

    `callers`: how many there are in each process, unless another number is asked for.
    """

    about: str
    shared: Mapping[str, Any]
    variants: Mapping[str, Mapping[str, Any]]
    expected: tuple[Expected, ...]
    callers: int = RrOptions().callers


# 40 ms (TCP_DELACK_MIN), the next tick of the kernel (4 ms at 250 Hz), and a wake-up on a busy
# host. Sending again, the other long wait, takes 200 ms and more.
_DELAYED_ACK_US = (40_000, 60_000)

# A hundred callers would also wait for a core, which lengthens each stall.
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
            Expected("calls_per_s", "nodelay", 3, ANY, over="nagle"),
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
        "a full accept queue drops SYNs, which are sent again after a second or more",
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
            Expected("listen_overflows", "backlog 50", 1, ANY),
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


def listing() -> str:
    """Every scenario: its name, what it shows, and the expected ranges."""
    lines = []
    for name, scenario in SCENARIOS.items():
        lines.append(f"{name}: {scenario.about}")
        for expected in scenario.expected:
            over = "" if expected.over is None else f" ÷ that of {expected.over}"
            lines.append(f"    {expected.figure} of {expected.of}{over}: {expected.span}")
    return "\n".join(lines)
