"""A link that is up: two hosts, how the link is made, and what it did during a run.

Law: a run tells what its link was, and how well that kept its times, by facts, counters `link_…`,
the histogram `link_lateness_ns`, and warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct, field

from tinygram_bench.host.network import Network
from tinygram_bench.host.network.connections import Known
from tinygram_bench.host.probes.kernel import CounterFds
from tinygram_bench.links.hosts import Hosts
from tinygram_bench.links.sandbox import sandbox_warnings
from tinygram_bench.links.traffic import Traffic
from tinygram_bench.model.result import LinkFacts, Run, Warning
from tinygram_bench.processes.workers import RunError
from tinygram_bench.statistics.link_warnings import STOOD_STILL_US, warnings_of

LOCALHOST = "127.0.0.1"
FAR_VARIABLE = "TINYGRAM_FAR"
"""The environment variable in which other programs find the far host's address."""


class Link(Struct, frozen=True):
    """Two hosts: `near` has the client or sender, `far` the server or receiver.

    Without arguments: both ends are here, in this machine's own network. `far_address`: where
    servers listen and clients connect. `client`: how servers of ours know the connections of
    clients; empty where nobody else is on these hosts. `counter_fds`: where a process on `near`
    reads the kernel's counters, None where they may not be of this run alone (probes/kernel.py);
    `counter_fds_of_far`: the same for `far`. `facts` None: nothing lies between the hosts, or it is
    not known what. `is_elsewhere`: `far` is no network of this machine, and `round_trip_ns` is the
    least time of a round trip to it. `take_traffic`: what went over the link since the last call.
    `find_fault`: why the link carries nothing any more, None while it does.
    """

    near: Network = field(default_factory=Network)
    far: Network = field(default_factory=Network)
    far_address: str = LOCALHOST
    client: Known = field(default_factory=Known)
    counter_fds: CounterFds = None
    counter_fds_of_far: CounterFds = None
    facts: LinkFacts | None = None
    is_elsewhere: bool = False
    round_trip_ns: int = 0
    take_traffic: Callable[[], Traffic] = Traffic
    find_fault: Callable[[], str | None] = lambda: None
    warnings: tuple[Warning, ...] = ()

    @staticmethod
    def between(hosts: Hosts, facts: LinkFacts, take_traffic: Callable[[], Traffic]) -> Link:
        """A link between two hosts of ours."""
        return Link(
            near=hosts.near.network,
            far=hosts.far.network,
            far_address=hosts.far.address,
            counter_fds=hosts.far_counter_fds,
            counter_fds_of_far=hosts.near_counter_fds,
            facts=facts,
            take_traffic=take_traffic,
            find_fault=hosts.fault,
            warnings=sandbox_warnings(),
        )

    @property
    def is_one_host(self) -> bool:
        """Whether both ends are on the same host."""
        return self.near == self.far and not self.is_elsewhere

    def take(
        self, turns_ns: Sequence[tuple[int, int]] = ()
    ) -> tuple[Traffic, tuple[Warning, ...], dict[str, tuple[float, ...]]]:
        """The traffic since the last call, its warnings, and values of slices.

        `turns_ns`: begin and end of each slice. Raises RunError when the link has failed.
        """
        if self.facts is None:
            return Traffic(), (), {}
        fault = self.find_fault()
        if fault is not None:
            raise RunError(fault)
        traffic = self.take_traffic()
        slices = {}
        if turns_ns and traffic.stood_still_ns is not None:
            slices[STOOD_STILL_US] = _overlaps_us(traffic.stood_still_ns, turns_ns)
        found = warnings_of(
            self.facts, traffic.counters, traffic.lateness, slices.get(STOOD_STILL_US)
        )
        return traffic, (*self.warnings, *found), slices

    def added_to(self, run: Run, turns_ns: Sequence[tuple[int, int]] = ()) -> Run:
        """The run with the link's facts, and its traffic since the last run over it.

        `turns_ns`: begin and end of each of the run's slices, where it took turns, in ns of
        CLOCK_MONOTONIC. Raises RunError when the link has failed.
        """
        (found,) = self.added_to_all([run], turns_ns)
        return found

    def added_to_all(
        self, runs: Sequence[Run], turns_ns: Sequence[tuple[int, int]] = ()
    ) -> list[Run]:
        """The same for runs that shared the link: each has the traffic of all together.

        Failed runs stay as they are. Raises RunError when the link has failed.
        """
        traffic, warnings, slices = self.take(turns_ns)
        histograms = {}
        if traffic.lateness is not None and traffic.lateness.count:
            histograms["link_lateness_ns"] = traffic.lateness.to_base64()
        counters = {f"link_{name}": count for name, count in traffic.counters.items()}
        return [
            run
            if run.failure is not None
            else msgspec.structs.replace(
                run,
                counters=run.counters | counters,
                histograms=run.histograms | histograms,
                warnings=(*run.warnings, *warnings),
                slices=run.slices | slices,
                link=self.facts,
            )
            for run in runs
        ]


def _overlaps_us(
    spans_ns: Sequence[tuple[int, int]], turns_ns: Sequence[tuple[int, int]]
) -> tuple[float, ...]:
    """How much of each turn lies in the spans, in µs; no two spans, or turns, overlap."""
    return tuple(
        sum(max(0, min(ends, until) - max(begins, since)) for since, until in spans_ns) / 1e3
        for begins, ends in turns_ns
    )
