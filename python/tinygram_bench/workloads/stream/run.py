"""One run of `stream`: a receiver and a sender, what they are told, and how they end."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import msgspec

from tinygram_bench.host.placement import placement
from tinygram_bench.host.probes.sampling import probing
from tinygram_bench.host.write_counter import Counting, counting
from tinygram_bench.links import LOCALHOST, Link, link_up
from tinygram_bench.load.source import BURST_MESSAGES
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Case, Run
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.processes.attached import attached
from tinygram_bench.processes.workers import LISTEN_LIMIT_S, Worker, contents, wait_all
from tinygram_bench.run.runs import kept_failure
from tinygram_bench.workloads.stream.order import Order, Pace, Report
from tinygram_bench.workloads.stream.outcome import Heard, assembled, received_counters

PACKAGE = "tinygram_bench.workloads.stream"


@dataclass(frozen=True)
class StreamBench:
    """Runs cases of `stream`, the sender's writes counted."""

    seed: int
    counting: Counting

    def run_case(self, case: Case, round: int) -> Run:
        """Run a case once; a failure is in the run, not raised."""
        return kept_failure(case, round, self._measure)

    def _measure(self, case: Case, round: int) -> Run:
        with ExitStack() as stack:
            notes_fd, turns_fd = os.memfd_create("notes"), os.memfd_create("turns")
            stack.callback(os.close, notes_fd)
            stack.callback(os.close, turns_fd)
            link = stack.enter_context(link_up(case, self.seed + round))
            timeout_s = case.parameters.timeout_ns / 1e9
            with link.far.entered():
                receiver = stack.enter_context(
                    Worker(
                        "receiver",
                        self._receiver_command(case, notes_fd, turns_fd, link),
                        pass_fds=[notes_fd, turns_fd],
                    )
                )
            port = receiver.wait_listening(min(LISTEN_LIMIT_S, timeout_s))
            probe = stack.enter_context(
                probing(case.parameters.probe_ns, port, link.near, link.is_one_host)
            )
            order = self.order(case, round, port, link)
            with link.near.entered():
                sender = stack.enter_context(
                    Worker(
                        "sender",
                        [sys.executable, "-m", f"{PACKAGE}.sender"],
                        order=msgspec.json.encode(order),
                        environment=self.counting.environment(),
                        pass_fds=[self.counting.fd, *(link.counter_fds or ())],
                    )
                )
            wait_all([receiver, sender], timeout_s)
            report = msgspec.json.decode(sender.output, type=Report)
            _, _, line = receiver.output.partition(b"\n")
            heard = Heard(contents(notes_fd), contents(turns_fd))
            counters = received_counters(line) | report.counters
            run = link.added_to(assembled(case, round, order, report, counters, heard))
            return probe.added_to(run, report.start_ns)

    def _receiver_command(self, case: Case, notes_fd: int, turns_fd: int, link: Link) -> list[str]:
        command = [sys.executable, "-m", f"{PACKAGE}.receiver"]
        substitute = StreamParameters.of(case).receiver_command
        if substitute is not None:
            command = attached(shlex.split(substitute))
        return command + self.receiver_options(case, notes_fd, turns_fd, link)

    def receiver_options(self, case: Case, notes_fd: int, turns_fd: int, link: Link) -> list[str]:
        """What the receiver of a run is told."""
        asked = StreamParameters.of(case)
        options = {
            "--messages": asked.warm_up_messages + asked.messages,
            "--warm-up": asked.warm_up_messages,
            "--min-bytes": case.message_bytes.min,
            "--max-bytes": case.message_bytes.max,
            "--seed": self.seed,
            "--receive-buffer": asked.receive_buffer_bytes,
            "--congestion-control": asked.congestion_control,
            "--notes": f"/dev/fd/{notes_fd}",
            "--parent": os.getpid(),
        }
        if case.producers > 1:
            options |= {"--producers": case.producers, "--turns": f"/dev/fd/{turns_fd}"}
        if link.far_address != LOCALHOST:
            options["--host"] = link.far_address
        sender_host = _sender_host(case, link)
        if sender_host is not None:
            options["--sender-host"] = sender_host
        cpu = placement(case.placement).receiver_cpu
        if cpu is not None:
            options["--cpu"] = cpu
        return [str(word) for option in options.items() for word in option]

    def order(self, case: Case, round: int, port: int, link: Link) -> Order:
        """What the sender of a run is told."""
        asked = StreamParameters.of(case)
        pace = None
        if case.rate_per_s is not None:
            pace = Pace(
                rate_per_s=case.rate_per_s,
                arrival=str(case.arrival),
                burst=case.burst or 1,
                duration_ns=asked.duration_ns or 0,
                # The same arrivals for every case of a round, others in the next round.
                seed=self.seed + round,
                sleeps=asked.study.pacer_sleeps,
            )
        return Order(
            port=port,
            runtime=case.runtime,
            implementation=case.implementation,
            strategy=parse_strategy(case.strategy),
            seed=self.seed,
            min_bytes=case.message_bytes.min,
            max_bytes=case.message_bytes.max,
            messages=asked.messages,
            warm_up=asked.warm_up_messages,
            pace=pace,
            producers=case.producers,
            has_busy_thread=asked.busy_thread,
            congestion_control=asked.congestion_control,
            counter_fds=link.counter_fds,
            parent_pid=os.getpid(),
            cpu=placement(case.placement).sender_cpu,
            flat_out_burst=asked.study.flat_out_burst or BURST_MESSAGES,
            withholds=asked.study.withholds,
            host=link.far_address,
            own_host=_sender_host(case, link),
        )


def _sender_host(case: Case, link: Link) -> str | None:
    """By which the receiver knows the sender; one that is not ours is not told of it."""
    is_ours = StreamParameters.of(case).receiver_command is None
    return link.client_host if is_ours else None


@contextmanager
def stream_bench(seed: int) -> Iterator[StreamBench]:
    """A bench, until the block's end."""
    with counting() as library:
        yield StreamBench(seed, library)
