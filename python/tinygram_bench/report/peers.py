"""The figures of other programs for the same work, and why they may differ from ours."""

from __future__ import annotations

from tinygram_bench.model.cross_check import AbsentPeer
from tinygram_bench.model.result import Figure, Result
from tinygram_bench.report.document import Section
from tinygram_bench.report.numbers import UNKNOWN, number, rate, ratio, ratio_interval
from tinygram_bench.report.table import Column, Shown, table_of
from tinygram_bench.statistics.verdicts.agreements import AGREES_WITHIN, Agreement, agreements_of
from tinygram_bench.statistics.workloads.loads import way_of

HEADING = "Cross-check: other programs, the same work in the same rounds"
NAMES = {
    "throughput_per_s": "messages/s",
    "call_p50_us": "median round trip in µs",
    "call_mean_us": "mean round trip in µs",
}
"""The figures of peers, in words."""
_SHOWN: tuple[Shown[Agreement], ...] = (
    Shown(Column("program"), lambda each: each.peer.peer_id),
    Shown(Column("beside", 1), lambda each: way_of(each.case)),
    Shown(Column("figure", 2), lambda each: NAMES[each.peer.figure]),
    Shown(Column("theirs"), lambda each: _value(each, each.value)),
    Shown(Column("ours"), lambda each: _value(each, each.our_value)),
    Shown(Column("theirs\n÷ ours"), lambda each: _ratio(each)),
    Shown(Column("low–high", 3), lambda each: _ratio_interval(each)),
    Shown(Column("segments\n/message\ntheirs", 4), lambda each: number(each.segments)),
    Shown(Column("segments\n/message\nours", 5), lambda each: number(each.our_segments)),
)


def cross_check_sections(result: Result) -> tuple[Section, ...]:
    if result.cross_check is None:
        return ()
    agreements = agreements_of(result)
    tables = (table_of("Theirs and ours", _SHOWN, agreements),) if agreements else ()
    remarks = (*_sentences_of(agreements, result.cross_check.absent), *_on_the_host(result))
    return (Section(HEADING, tables, remarks=remarks),)


def _sentences_of(
    agreements: tuple[Agreement, ...], absent: tuple[AbsentPeer, ...]
) -> tuple[str, ...]:
    """One sentence for each program: it agrees, or why it may not; or why it did not run."""
    return (
        *(_sentence(each) for each in agreements),
        *(f"{each.program} {each.reason}." for each in absent),
    )


def _on_the_host(result: Result) -> tuple[str, ...]:
    """A note where no private network is permitted: then peers lacked our congestion control."""
    sysctls = result.environment.get("sysctls") or {}
    theirs = sysctls.get("net.ipv4.tcp_congestion_control")
    ours = result.environment.get("congestion_control")
    if result.environment.get("network") != "host" or theirs == ours:
        return ()
    return (
        f"No private network is permitted here: all but iperf3 used {theirs}, the host's "
        f"congestion control, and ours {ours}.",
    )


def _value(agreement: Agreement, figure: Figure | None) -> str:
    median = None if figure is None else figure.median
    return rate(median) if agreement.peer.figure.endswith("_per_s") else number(median)


def _ratio(agreement: Agreement) -> str:
    return UNKNOWN if agreement.ratio is None else ratio(agreement.ratio.median)


def _ratio_interval(agreement: Agreement) -> str:
    return UNKNOWN if agreement.ratio is None else ratio_interval(agreement.ratio)


def _sentence(agreement: Agreement) -> str:
    peer = agreement.peer
    failed = ""
    if agreement.failures:
        count = f"{len(agreement.failures)} of {agreement.rounds} rounds"
        failed = f"It failed in {count}: {agreement.failures[0].rstrip('.')}."
    if agreement.ratio is None:
        return f"{peer.peer_id} has no figure beside ours. {failed}".rstrip()
    found = f"{ratio(agreement.ratio.median)} × ours ({ratio_interval(agreement.ratio)})"
    told = f"{peer.peer_id}: its {NAMES[peer.figure]} is {found}, {_how_sure(agreement)}"
    within = f"{AGREES_WITHIN:.0%}"
    if agreement.is_close:
        return f"{told}: within {within}. {failed}".rstrip()
    if agreement.is_close is None:
        return f"{told}: whether it is within {within} cannot be said. {failed}".rstrip()
    return f"{told}: more than {within} apart. {_why(agreement)} {failed}".rstrip()


def _how_sure(agreement: Agreement) -> str:
    rounds = agreement.paired_rounds
    counted = "1 round" if rounds == 1 else f"{rounds} rounds"
    if not agreement.has_enough_rounds:
        return f"in {counted}, which are too few to be sure"
    return f"at {agreement.confidence:.1%} confidence from {counted}"


def _why(agreement: Agreement) -> str:
    """What differs: first counts, then what is known of the program."""
    peer = agreement.peer
    said = []
    if agreement.segments is not None and agreement.our_segments is not None:
        said.append(
            f"both ends sent {number(agreement.segments)} segments for a message, with ours "
            f"{number(agreement.our_segments)}"
        )
    said += [f"its writes: {peer.batching}", f"its figure: {peer.meaning}", *peer.differences]
    return f"What differs: {'; '.join(said)}."
