"""The warnings on the figures of a run that several workloads give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygram_bench.model.result import Warning


def strangers_told(counters: Mapping[str, int | None], *others: str) -> Iterator[Warning]:
    """The warning of a run whose receiver or server other programs connected to.

    `others`: the counters that have more of such connections.
    """
    strangers = sum(counters.get(name) or 0 for name in ("strangers", *others))
    if strangers:
        yield Warning(
            "strangers",
            f"connections of other programs, which were turned away: {strangers}; what else these "
            "programs did on this host is not known",
        )


def retransmits_told(segments: int | None, by: str = "") -> Iterator[Warning]:
    """The warning of a run in which segments were sent again. `by`: who sent them."""
    if segments:
        yield Warning("retransmits", f"segments retransmitted{by}: {segments}")


def uncounted_writes_told(counters: Mapping[str, int | None]) -> Iterator[Warning]:
    """The warning of a run whose writes nobody counted."""
    if counters["writes"] is None:
        yield Warning("writes_not_counted", "the write-counting library did not load")


def host_network_told(
    *, has_private_network: bool, needs: str = "CAP_SYS_ADMIN"
) -> Iterator[Warning]:
    """The warning of a run without a network of its own. `needs`: what such a network needs."""
    if not has_private_network:
        yield Warning(
            "host_network",
            f"the run shared the host's network (a private one needs {needs}): the kernel's "
            "counters are not known",
        )
