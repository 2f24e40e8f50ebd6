"""The outcome of a run of `echo`: every byte is accounted for, and warnings are added."""

from __future__ import annotations

from msgspec import Struct

from tinygram_bench._native import Histogram
from tinygram_bench.model.parameters import EchoParameters
from tinygram_bench.model.result import Case, Run, Warning
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.slice_figures import Values, slices_told
from tinygram_bench.tls.records import RECORD_OVERHEAD_BYTES
from tinygram_bench.workloads.echo.order import ClientOrder, Report
from tinygram_bench.workloads.echo.slices import Sliced, figures_of, slice_counters
from tinygram_bench.workloads.warnings import (
    host_network_told,
    late_told,
    retransmits_told,
    shares_core,
    strangers_told,
    uncounted_writes_told,
)

_BUSY = 0.95
"""The share of the run on the CPU above which a client may be the limit."""
_BUSIER_THAN_SERVER = 0.7
"""The same for a client that takes more CPU time than the server: both wait for each other."""
_LEAST_IN_FLIGHT = 0.9
"""The share of the permitted messages in flight below which the client left places empty."""
_COUNTS_OF_CLIENT = ("throughput", "run_time", "both_ways", "round_trip")
_EVERYTHING = (*_COUNTS_OF_CLIENT, "cpu", "messages_per_write")


class Found(Struct, frozen=True):
    """Findings beside the client's report.

    `counters`: those of client, server and kernel. `strangers` None: a server that is not ours does
    not count them. `congestion_controls`: those of the server's ends of the connections after the
    warm-up; empty where they are not known. `is_ours`: whether the server is ours. `is_offered`:
    whether other hosts load it, too; what it used is then asked for elsewhere.
    """

    counters: dict[str, int | None]
    strangers: int | None
    congestion_controls: tuple[str, ...]
    is_ours: bool
    has_private_network: bool
    sliced: Sliced | None = None
    is_offered: bool = False


def assembled(case: Case, round: int, order: ClientOrder, report: Report, found: Found) -> Run:
    """Check the counts against each other, and add the warnings. Raises RunError."""
    messages = report.counters["messages"]
    measured = report.counters.get("middle_messages", messages)
    counters = found.counters | {
        "bytes": messages * order.message_bytes,
        "exchanged_bytes": 2 * measured * order.message_bytes,
    }
    records = counters.get("tls_records")
    if records is not None:
        counters["wire_bytes"] = messages * order.message_bytes + RECORD_OVERHEAD_BYTES * records
    if found.strangers is not None:
        counters["strangers"] = found.strangers
    if not messages:
        raise RunError("no message came back")
    if order.messages is not None and messages != order.messages:
        raise RunError(f"{messages} of {order.messages} messages came back")
    _check_writes(counters, order)
    _check_littles_law(counters, order)
    slices: dict[str, Values] = {}
    if found.sliced is not None:
        assert report.in_slices is not None, "it took turns"
        assert order.slices is not None, "it took turns"
        slices = figures_of(report.in_slices, order.slices, found.sliced)
        counters |= slice_counters(report.in_slices, found.sliced)
    own_ns = order.own_ns or 0
    return Run(
        case.case_id,
        round,
        counters,
        report.histograms,
        (
            *strangers_told(counters),
            *slices_told(own_ns, counters, "the server", "the client"),
            *_warnings(case, order, report, found, counters),
            *_of_congestion_control(order, found),
        ),
        slices=slices,
    )


def _check_writes(counters: dict[str, int | None], order: ClientOrder) -> None:
    written_bytes = counters["written_bytes"]
    if order.trusts or written_bytes is None:
        return
    replied_bytes = counters.get("wire_bytes", counters["bytes"])
    if written_bytes != replied_bytes:
        raise RunError(
            f"the server's counted writes hold {written_bytes} bytes, the replies {replied_bytes}"
        )


def _check_littles_law(counters: dict[str, int | None], order: ClientOrder) -> None:
    """Check that rate × mean time, the average in flight, is not above what is permitted."""
    in_flight = _in_flight(counters)
    if in_flight > order.workers * order.depth * 1.001:
        raise RunError(
            f"{in_flight:.2f} messages were in flight on average, and {order.workers} workers may "
            f"have {order.depth} each: the times cannot be right"
        )


def _in_flight(counters: dict[str, int | None]) -> float:
    return _known(counters, "round_trips_ns") / max(1, _known(counters, "run_time_ns"))


def _warnings(
    case: Case,
    order: ClientOrder,
    report: Report,
    found: Found,
    counters: dict[str, int | None],
) -> list[Warning]:
    warnings = []
    asked = EchoParameters.of(case)
    if asked.fault is not None:
        warnings.append(_of_fault(case, report))
    if found.is_ours and not found.is_offered:
        warnings.extend(uncounted_writes_told(counters))
    warnings.extend(retransmits_told(counters.get("kernel_RetransSegs")))
    warnings.extend(
        host_network_told(
            has_private_network=found.has_private_network,
            needs="CAP_SYS_ADMIN, and a server that is started by us",
        )
    )
    limit = _limit_of_client(case, counters)
    if limit is not None:
        warnings.append(
            Warning(
                "client_busy", f"{limit}: the server may be faster than this", _COUNTS_OF_CLIENT
            )
        )
    if order.pace is not None:
        # How many are in flight is what the load makes it.
        limit = "what the server can answer with so many in flight"
        shortest_ns = Histogram.from_base64(report.histograms["round_trip_ns"]).min_ns
        warnings.extend(late_told(case, counters, order.own_ns or 0, shortest_ns, limit))
        return warnings
    in_flight, most = _in_flight(counters), order.workers * order.depth
    if in_flight < _LEAST_IN_FLIGHT * most:
        warnings.append(
            Warning(
                "places_empty",
                f"{in_flight:.1f} messages were in flight on average, where {most} might be: the "
                "next ones of the others were not sent yet, by a client that was at other replies, "
                "had no core, or whose connections took no more",
                _COUNTS_OF_CLIENT,
            )
        )
    return warnings


def _limit_of_client(case: Case, counters: dict[str, int | None]) -> str | None:
    """Why the client may limit the run, as far as CPU time tells; None where it does not."""
    if shares_core(case):
        return "the client and the server shared a core"
    client_ns, server_ns = _known(counters, "client_cpu_ns"), counters["cpu_ns"]
    measured = counters.get("middle_messages")
    if server_ns is not None and measured is not None:
        # The client's CPU time is of these alone.
        server_ns = server_ns * measured // _known(counters, "messages")
    busy = client_ns / max(1, _known(counters, "run_time_ns"))
    if busy > _BUSY:
        return f"the client was busy {busy:.0%} of the run"
    if busy > _BUSIER_THAN_SERVER and server_ns is not None and client_ns > server_ns:
        return (
            f"the client was busy {busy:.0%} of the run, and took {client_ns / 1e9:.3g} s of CPU "
            f"time where the server took {server_ns / 1e9:.3g} s"
        )
    return None


def _of_congestion_control(order: ClientOrder, found: Found) -> list[Warning]:
    """The warning of a congestion control that was not asked for; our servers use the one asked."""
    asked, given = order.congestion_control, found.congestion_controls
    if given == (asked,) or (found.is_ours and not given):
        return []
    if given:
        replies = f"its replies went under {' and '.join(given)}"
    else:
        replies = (
            "what its replies went under is not known, for the kernel tells nothing of its ends"
        )
    return [
        Warning(
            "congestion_control",
            f"{replies}, those of our servers under {asked}: it is another transport's figure, too",
            _COUNTS_OF_CLIENT,
        )
    ]


def _of_fault(case: Case, report: Report) -> Warning:
    fault = EchoParameters.of(case).fault
    if report.fault is None:
        found = "the check finds nothing wrong: each read filled the buffer"
    else:
        found = f"not an echo, and the check that all others pass finds it: {report.fault}"
    message = f"{fault}, measured by a client that counts bytes and does not compare them; {found}"
    return Warning("faulty_server", message, _EVERYTHING)


def _known(counters: dict[str, int | None], name: str) -> int:
    value = counters[name]
    assert value is not None, f"the client always knows {name}"
    return value
