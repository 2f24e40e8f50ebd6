"""Runs of `stream` by processes that stay: many short runs would spend their time on starts.

A pair of processes, over a link of its own, serves one run after the other, each on a
fresh connection to a fresh listener. What else a run is stays the same (run.py). A run that fails
ends its pair; the next one starts another.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import msgspec

from tinygram_bench.links import Link, link_up
from tinygram_bench.model.result import Case, Run
from tinygram_bench.processes.channel import LineWorker, wait_lines
from tinygram_bench.processes.workers import contents, port_of
from tinygram_bench.run.runs import kept_failure
from tinygram_bench.workloads.stream.order import Report
from tinygram_bench.workloads.stream.outcome import Heard, assembled, received_counters
from tinygram_bench.workloads.stream.run import PACKAGE, StreamBench, stream_bench


class Pair:
    """A sending and a receiving process."""

    def __init__(self, stack: ExitStack, bench: StreamBench, case: Case) -> None:
        """Start both, over the link of `case`. Raises RunError."""
        self.link: Link = stack.enter_context(link_up(case, bench.seed))
        self.notes_fd, self.turns_fd = os.memfd_create("notes"), os.memfd_create("turns")
        stack.callback(os.close, self.notes_fd)
        stack.callback(os.close, self.turns_fd)
        with self.link.far.entered():
            self.receiver = LineWorker(
                *(stack, "receiver", [sys.executable, "-m", f"{PACKAGE}.receiver", "--warm"]),
                *(None, [self.notes_fd, self.turns_fd]),
            )
        passed_fds = [bench.counting.fd, *(self.link.counter_fds or ())]
        with self.link.near.entered():
            self.sender = LineWorker(
                *(stack, "sender", [sys.executable, "-m", f"{PACKAGE}.sender"]),
                *(bench.counting.environment(), passed_fds),
            )


class WarmBench:
    """Runs cases as `StreamBench` does, by pairs that stay: one for each runtime and link."""

    def __init__(self, bench: StreamBench) -> None:
        """`bench` says what a run is."""
        self._bench = bench
        self._pairs: dict[tuple[str, str], tuple[Pair, ExitStack]] = {}

    def run_case(self, case: Case, round: int) -> Run:
        """Run a case once; a failure is in the run, not raised."""
        return kept_failure(case, round, self._measure)

    def close(self) -> None:
        """End all processes: the next run starts new ones."""
        for key in list(self._pairs):
            self._end(key)

    def _measure(self, case: Case, round: int) -> Run:
        try:
            return self._run(self._pair(case), case, round)
        except BaseException:
            self._end((case.runtime, case.link))
            raise

    def _run(self, pair: Pair, case: Case, round: int) -> Run:
        bench = self._bench
        give_up_s = time.monotonic() + case.parameters.timeout_ns / 1e9
        options = bench.receiver_options(case, pair.notes_fd, pair.turns_fd, pair.link)
        pair.receiver.tell(msgspec.json.encode(options))
        (said,) = wait_lines([pair.receiver], give_up_s, beside=[pair.sender])
        order = bench.order(case, round, port_of("receiver", said), pair.link)
        pair.sender.tell(msgspec.json.encode(order))
        received, reported = wait_lines([pair.receiver, pair.sender], give_up_s)
        report = msgspec.json.decode(reported, type=Report)
        counters = received_counters(received) | report.counters
        heard = Heard(contents(pair.notes_fd), contents(pair.turns_fd))
        return pair.link.added_to(assembled(case, round, order, report, counters, heard))

    def _pair(self, case: Case) -> Pair:
        key = (case.runtime, case.link)
        if key not in self._pairs:
            with ExitStack() as stack:
                pair = Pair(stack, self._bench, case)
                self._pairs[key] = (pair, stack.pop_all())
        return self._pairs[key][0]

    def _end(self, key: tuple[str, str]) -> None:
        if key in self._pairs:
            self._pairs.pop(key)[1].close()


@contextmanager
def warm_bench(seed: int) -> Iterator[WarmBench]:
    """A bench whose processes stay until the block's end, or until its `close`."""
    with stream_bench(seed) as bench:
        warm = WarmBench(bench)
        try:
            yield warm
        finally:
            warm.close()
