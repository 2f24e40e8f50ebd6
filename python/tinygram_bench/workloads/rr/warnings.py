"""The warnings on the figures of `rr` that one run shows."""

from __future__ import annotations

from collections.abc import Mapping

from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case, Warning
from tinygram_bench.runs.slice_figures import slices_told
from tinygram_bench.workloads.warnings import host_network_told, late_told, strangers_told

LEAST_IN_FLIGHT = 0.9
"""The least share of callers in a call: by Little's law, rate × mean time of a call with
connecting."""


SHARES_AN_INTERPRETER = ("threads", "asyncio", "uvloop")
"""Runtimes whose callers take turns in one interpreter: for its lock, or in its event loop."""


def warnings_of(
    case: Case,
    counters: Mapping[str, int | None],
    own_ns: int,
    shortest_ns: int,
    *,
    has_private_network: bool,
) -> tuple[Warning, ...]:
    """The warnings. `own_ns`: how long the case's own time is; `shortest_ns`: its shortest call."""
    asked = RrParameters.of(case)
    warnings = [
        *strangers_told(counters),
        *host_network_told(
            has_private_network=has_private_network, needs="CAP_SYS_ADMIN, and a server of ours"
        ),
    ]
    if not asked.checks_replies:
        warnings.append(
            Warning(
                "unchecked_replies",
                "the content of the replies was not checked (--reply-bytes): each had "
                f"{asked.reply_bytes} bytes, and may be wrong, or that of another request",
            )
        )
    if case.runtime in SHARES_AN_INTERPRETER and asked.callers_per_process > 1:
        warnings.append(
            Warning(
                "interpreter",
                "connect and call times include the wait for the interpreter, which the callers of "
                "a process share: --runtime native has none",
                ("connect_",),
            )
        )
    depth, callers_each = asked.depth, asked.callers_per_process
    if asked.connections == "shared" and (depth or callers_each) < callers_each:
        warnings.append(
            Warning(
                "waits_for_room",
                f"the time of a call includes the wait for room: {callers_each} callers share a "
                f"connection on which {depth} requests are in flight at a time",
            )
        )
    overflows = counters.get("kernel_ListenOverflows")
    if overflows:
        # At a rate the time of a call includes connecting for it.
        connects = case.rate_per_s is not None and asked.connections == "per-request"
        warnings.append(
            Warning(
                "listen_overflows",
                f"the server's backlog overflowed {overflows} times: connect times are those of "
                "sending the SYN again, a second later and more",
                ("connect_", "call_", "start_delay_") if connects else ("connect_",),
            )
        )
    warnings.extend(slices_told(own_ns, dict(counters), "the callers", "the server"))
    if case.rate_per_s is not None:
        limit = "what these callers can make"
        warnings.extend(late_told(case, counters, own_ns, shortest_ns, limit))
        return tuple(warnings)
    share = _share_in_calls(counters)
    if share is not None and share < LEAST_IN_FLIGHT:
        callers = counters["callers"] or 0
        warnings.append(
            Warning(
                "littles_law",
                f"by Little's law {share * callers:.0f} of {callers} callers are in a call at a "
                "time: the others close connections, or wait for their interpreter or a core",
            )
        )
    return tuple(warnings)


def _share_in_calls(counters: Mapping[str, int | None]) -> float | None:
    call, connect = counters.get("call_time_ns"), counters.get("connect_time_ns")
    callers = counters.get("callers_time_ns")
    if call is None or connect is None or not callers:
        return None
    return (call + connect) / callers
