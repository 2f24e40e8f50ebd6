"""Other programs that do the same work in the same rounds: what they are, and what they told."""

from __future__ import annotations

from tinygram_bench.model.value import Value


class Peer(Value, frozen=True):
    """Another program that does the work of the case `case_id`, in the same rounds.

    `figure`: the case's figure that the peer's is compared with, in the same unit. `version`: as
    the program reports it, null where it reports none. In words: `batching`, what becomes of a
    message's write; `meaning`, what the peer's figure counts; `differences`, what else it does
    differently.
    """

    peer_id: str
    program: str
    version: str | None
    case_id: str
    figure: str
    command: tuple[str, ...]
    batching: str
    meaning: str
    differences: tuple[str, ...]


class PeerRun(Value, frozen=True):
    """The outcome of a peer in one round: `value` in the unit of its figure, null if it failed.

    `counters` are the kernel's, over the whole run, and `messages` where the peer reports them.
    """

    peer_id: str
    round: int
    value: float | None
    counters: dict[str, int | None]
    failure: str | None = None


class AbsentPeer(Value, frozen=True):
    """A program that could have been a peer, and why it is none; `reason` begins with a verb."""

    program: str
    reason: str


class CrossCheck(Value, frozen=True):
    """The figures of other programs for the same work (`--cross-check`)."""

    peers: tuple[Peer, ...]
    runs: tuple[PeerRun, ...]
    absent: tuple[AbsentPeer, ...]
