"""How many messages a run of `fanout` may have; each refusal names its remedy."""

from __future__ import annotations

from tinygram_bench.model.errors import UsageError

_MOST_DELIVERIES = 100_000_000


def check_rate(rate_per_s: float, burst: int, duration_ns: int, subscribers: int) -> None:
    """Raises UsageError where a run has no publication, or too many messages."""
    publications = rate_per_s * duration_ns / 1e9
    messages = publications * subscribers
    if round(publications) < burst:
        raise UsageError(
            f"--rate {rate_per_s:g} has no publication in the run: name a longer --duration"
        )
    if messages > _MOST_DELIVERIES:
        raise UsageError(
            f"--rate {rate_per_s:g} to {subscribers} subscribers is {messages:.3g} messages "
            "in each run: 100 million are allowed, so name a lower rate, a shorter "
            "--duration or fewer subscribers"
        )
