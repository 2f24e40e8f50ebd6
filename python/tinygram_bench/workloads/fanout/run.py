"""One run of `fanout`: the orders for the publisher and its subscribers, and their answers."""

from __future__ import annotations

import time
from contextlib import nullcontext

from tinygram_bench.host.occupied import cores_of
from tinygram_bench.host.placement import placement
from tinygram_bench.host.probes.kernel import Counted, counted_between
from tinygram_bench.hosts.clock import FRESH_NS
from tinygram_bench.hosts.difference import Difference
from tinygram_bench.links import parse_link
from tinygram_bench.model.parameters import FanoutParameters
from tinygram_bench.model.result import Case, Run
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.processes.orders import End, Go, Ready
from tinygram_bench.processes.workers import RunError, contents
from tinygram_bench.runs.slices import SETTLING_SHARE, Ends, Slices, Used, used_in_slices
from tinygram_bench.runs.stage import Address, Turn
from tinygram_bench.runs.workload import Exchanged, Rehearsed, TakesTurns, Waiting
from tinygram_bench.workloads.fanout.order import (
    Begin,
    Heard,
    Pace,
    PublisherOrder,
    Report,
    SubscribersOrder,
    Warm,
)
from tinygram_bench.workloads.fanout.outcome import Found, assembled
from tinygram_bench.workloads.fanout.slices import read_heard
from tinygram_bench.workloads.warnings import with_bound

PACKAGE = "tinygram_bench.workloads.fanout"
_SUBSCRIBERS = "subscribers"
_PUBLISHER = "publisher"
_HEARD = "heard"
_AT_A_TIME = 5
"""Publications count as this many at a time, so that a slice has four of the slowest
publisher's."""
_LEAD_NS = 50_000_000
"""The time between telling both ends of a case that runs alone when it starts, and that start."""
_QUEUED_NS = 10_000_000
"""The time in which subscribers read what a publisher has put into the sockets' buffers."""


class Fanout(TakesTurns):
    """A publisher under test, and all its subscribers."""

    is_timed_one_way = True

    def limit_s(self, case: Case) -> float:
        asked = FanoutParameters.of(case)
        return (asked.timeout_ns + asked.duration_ns) / 1e9

    def listen(self, turn: Turn) -> Address:
        """Have the subscribers listen for the publisher."""
        case, link = turn.case, turn.link
        asked = FanoutParameters.of(case)
        heard_fd = turn.stage.memory(_HEARD)
        subscribers = turn.stage.far(_SUBSCRIBERS, f"{PACKAGE}.subscribers", pass_fds=[heard_fd])
        subscribers.tell(
            SubscribersOrder(
                report_fd=heard_fd,
                subscribers=case.connections,
                message_bytes=case.message_bytes.max,
                seed=self.seed,
                congestion_control=asked.congestion_control,
                host=link.far_address,
                client=link.client,
                timeout_ns=asked.timeout_ns,
            )
        )
        return turn.listening(subscribers)

    def own_ns(self, case: Case) -> int:
        return FanoutParameters.of(case).duration_ns

    def waits_ns(self, case: Case) -> int:
        link = parse_link(case.link)
        waits_ns = 2 * link.rtt_ns + 2 * link.jitter_ns
        if link.bandwidth_bits_per_s is not None:
            all_bits = 8 * case.connections * case.message_bytes.max
            waits_ns += round(all_bits / link.bandwidth_bits_per_s * 1e9)
        strategy = parse_strategy(case.strategy)
        return waits_ns + _QUEUED_NS + (strategy.duration_ns or 0)

    def rehearsed(self, turn: Turn, address: Address | None) -> Rehearsed:
        """Have the publisher connect and warm up."""
        publisher = turn.stage.near(
            _PUBLISHER,
            f"{PACKAGE}.publisher",
            counts_writes=True,
            pass_fds=turn.link.counter_fds or (),
        )
        publisher.tell(self._publisher_order(turn, address))
        warm = turn.hear(publisher, Warm)
        turn.hear(turn.stage.child(_SUBSCRIBERS), Ready)
        is_paced = turn.case.rate_per_s is not None
        return Rehearsed(0 if is_paced else warm.publication_ns, _AT_A_TIME)

    def warmed_up(self, turn: Turn, address: Address | None, slices: Slices) -> Waiting:
        """Both ends have warmed up already; they get the slices with the start."""
        order = self._publisher_order(turn, address)
        publisher = turn.stage.child(_PUBLISHER)
        subscribers = turn.stage.child(_SUBSCRIBERS)
        before = turn.stage.counters()
        begun: list[Begin] = []

        def start(at_ns: int) -> None:
            over_ns = slices.begins_ns[-1] + slices.slice_ns
            begin = Begin(
                at_ns,
                slices,
                over_ns + round(turn.limit_s * 1e9),
                _difference(turn),
                is_alone=turn.case.parameters.slice_ns is None,
            )
            begun.append(begin)
            subscribers.tell(begin)
            publisher.tell(begin)

        def collect(used: Used) -> Exchanged:
            return _collected(turn, order, before, begun[0], used)

        return Waiting(publisher.pids, subscribers.pids, [publisher], start, collect)

    def exchange(self, turn: Turn, address: Address | None) -> Exchanged:
        """Run a case alone: it has one slice, as long as the run."""
        self.rehearsed(turn, address)
        own_ns = self.own_ns(turn.case)
        slices = Slices((0,), own_ns, round(own_ns * SETTLING_SHARE))
        waiting = self.warmed_up(turn, address, slices)
        # To connect and to warm up may have taken long.
        turn.stage.look_at_clock()
        turn.begin()
        start_ns = time.monotonic_ns() + _LEAD_NS + turn.link.round_trip_ns
        waiting.start(start_ns)
        ends = [Ends(slices, waiting.pids, waiting.resting_pids)]
        cores = cores_of(placement(turn.case.placement))
        far = turn.stage.child(_SUBSCRIBERS).process
        host = turn.stage.far_host
        with nullcontext() if host is None else host.clock.looking():
            (used,) = used_in_slices(
                start_ns, ends, turn.give_up_s, cores, is_lost=lambda: far.is_cut_off
            )
        return waiting.collect(used)

    def _publisher_order(self, turn: Turn, address: Address | None) -> PublisherOrder:
        assert address is not None, "there are always subscribers"
        case = turn.case
        asked = FanoutParameters.of(case)
        pace = None
        if case.rate_per_s is not None:
            pace = Pace(
                rate_per_s=case.rate_per_s,
                arrival=str(case.arrival),
                duration_ns=asked.duration_ns,
                # The same arrivals for every case of a round, others in the next round.
                seed=self.seed + turn.round,
            )
        return PublisherOrder(
            host=address.host,
            port=address.port,
            client=turn.link.client,
            runtime=case.runtime,
            implementation=case.implementation,
            server=asked.server,
            strategy=parse_strategy(case.strategy),
            subscribers=case.connections,
            message_bytes=case.message_bytes.max,
            seed=self.seed,
            burst=case.burst or 1,
            pace=pace,
            patience_ns=asked.timeout_ns,
            congestion_control=asked.congestion_control,
        )


def _difference(turn: Turn) -> Difference | None:
    """How the subscribers' clock will differ from ours; None on one host. Raises RunError."""
    host = turn.stage.far_host
    return None if host is None else host.clock.onwards()


def _collected(
    turn: Turn, order: PublisherOrder, before: Counted, begin: Begin, used: Used
) -> Exchanged:
    """What both ends tell when the slices of all cases are over. Raises RunError."""
    publisher = turn.stage.child(_PUBLISHER)
    turn.hear(publisher, Ready)
    kernel = counted_between(before, turn.stage.counters())
    publisher.tell(Go())
    report = turn.hear(publisher, Report)
    turn.hear(turn.stage.child(_SUBSCRIBERS), End)
    heard = read_heard(contents(turn.stage.memory(_HEARD)), begin)
    found = Found(
        begin.slices,
        begin.at_ns,
        used,
        kernel,
        has_private_network=turn.link.counter_fds is not None,
        is_elsewhere=turn.link.is_elsewhere,
    )
    run = assembled(turn.case, turn.round, order, report, heard, found)
    return Exchanged(_with_bound(turn, begin, heard, run), begin.at_ns)


def _with_bound(turn: Turn, begin: Begin, heard: Heard, run: Run) -> Run:
    """The run, between two hosts with its times' error.

    The subscribers had the line that was known at the start, and now it is known better. Raises
    RunError, also where messages came earlier than that error explains.
    """
    bound_ns = 0
    host = turn.stage.far_host
    if host is not None and begin.difference is not None:
        now_ns = time.monotonic_ns()
        over_ns = begin.at_ns + max(begin.slices.over_ns, begin.slices.own_ns)
        host.clock.look(max(over_ns, now_ns - FRESH_NS))
        found = host.clock.followed(begin.at_ns)
        last_ns = min(now_ns, max(heard.last_ns))
        bound_ns = found.bound_ns + found.strays_ns(begin.difference, begin.at_ns, last_ns)
        run = with_bound(run, bound_ns, host.clock.round_trip_ns)
    early_ns = heard.counters["early_ns"]
    if early_ns > bound_ns:
        raise RunError(
            f"a message came {early_ns / 1e3:.1f} µs before it was due, and the clocks may be "
            f"wrong by {bound_ns / 1e3:.1f} µs"
        )
    return run
