"""Peers between the runs of a plan: each runs once in each round, in the plan's random order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from tinygram_bench.crosscheck.run import run_peer
from tinygram_bench.crosscheck.selection import Chosen
from tinygram_bench.model.cross_check import AbsentPeer, CrossCheck, PeerRun
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Case, Plan, Run, RunCases


class Interleaved:
    """A plan with peers in it, and what they found."""

    def __init__(
        self,
        plan: Plan,
        chosen: Sequence[Chosen],
        absent: Sequence[AbsentPeer],
        run: Callable[[Chosen, int], PeerRun] = run_peer,
    ) -> None:
        self._chosen = {each.peer.peer_id: each for each in chosen}
        self._absent = tuple(absent)
        self._run = run
        self._runs: list[PeerRun] = []
        # These cases stand for the peers in the order of a round and in the progress.
        peers = (msgspec.structs.replace(each.case, case_id=each.peer.peer_id) for each in chosen)
        self.plan = msgspec.structs.replace(plan, cases=(*plan.cases, *peers))

    def go_on(self, earlier: CrossCheck | None) -> tuple[Run, ...]:
        """Take over an earlier cross-check; returns its runs. Raises UsageError for other peers."""
        peers = () if earlier is None else earlier.peers
        if peers != tuple(each.peer for each in self._chosen.values()):
            told = [", ".join(f"{each.peer_id} {each.version}" for each in peers) or "none"]
            told.append(
                ", ".join(f"{id} {each.peer.version}" for id, each in self._chosen.items())
                or "none"
            )
            raise UsageError(
                f"the programs beside ours were {told[0]} when the measurement began, and are "
                f"{told[1]} now: resume it where the first ones are, or start a new measurement"
            )
        self._runs = [] if earlier is None else list(earlier.runs)
        return tuple(
            Run(each.peer_id, each.round, {}, {}, failure=each.failure) for each in self._runs
        )

    @property
    def most_runs(self) -> int:
        """How many runs all peers have together."""
        return len(self._chosen) * self.plan.rounds

    def around(self, run_cases: RunCases) -> RunCases:
        """A `RunCases` that runs our cases with `run_cases`, and each peer alone."""

        def run(cases: Sequence[Case], round: int) -> Sequence[Run]:
            chosen = self._chosen.get(cases[0].case_id)
            if chosen is None:
                return run_cases(cases, round)
            found = self._run(chosen, round)
            self._runs.append(found)
            return [Run(cases[0].case_id, round, {}, {}, failure=found.failure)]

        return run

    def without_peers(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        return tuple(run for run in runs if run.case_id not in self._chosen)

    def found(self) -> CrossCheck:
        """The cross-check's part of the result."""
        peers = tuple(each.peer for each in self._chosen.values())
        return CrossCheck(peers, tuple(self._runs), self._absent)
