"""One run of `stream`: a receiver and a sender, their reports, and what they add up to."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Annotated

import msgspec

from tinygram import _native
from tinygram.bench.interrupts import INTERRUPTS
from tinygram.bench.network import Network, private_network
from tinygram.bench.placement import placement
from tinygram.bench.result import Case, Run
from tinygram.bench.source import BURST_MESSAGES, message_pool
from tinygram.bench.workers import RunError, Worker, contents, wait_all
from tinygram.bench.workloads.stream.order import Order, Pace, Report
from tinygram.bench.workloads.stream.warnings import warnings_of

_LISTEN_LIMIT_S = 20.0
PACKAGE = "tinygram.bench.workloads.stream"
_Counter = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


@dataclass(frozen=True)
class Heard:
    """What the receiver left: a note for each read; whose turn each message was, with several."""

    notes: bytes
    turns: bytes


@dataclass(frozen=True)
class StreamBench:
    """Runs cases of `stream`. `counting_fd` holds the library that counts writes."""

    seed: int
    counting_fd: int

    def run_case(self, case: Case, round: int) -> Run:
        """Run a case once; a failure is in the run, not raised."""
        return kept_failure(case, round, self._measure)

    def _measure(self, case: Case, round: int) -> Run:
        with ExitStack() as stack:
            notes_fd, turns_fd = os.memfd_create("notes"), os.memfd_create("turns")
            stack.callback(os.close, notes_fd)
            stack.callback(os.close, turns_fd)
            network = stack.enter_context(private_network())
            timeout_s = whole(case, "timeout_ns") / 1e9
            with INTERRUPTS.held(), network.entered():
                receiver = stack.enter_context(
                    Worker(
                        "receiver",
                        self._receiver_command(case, notes_fd, turns_fd),
                        pass_fds=[notes_fd, turns_fd],
                    )
                )
            port = receiver.wait_listening(min(_LISTEN_LIMIT_S, timeout_s))
            order = self.order(case, round, port, network)
            with INTERRUPTS.held(), network.entered():
                sender = stack.enter_context(
                    Worker(
                        "sender",
                        [sys.executable, "-m", f"{PACKAGE}.sender"],
                        order=msgspec.json.encode(order),
                        environment=self.counting_environment(),
                        pass_fds=[self.counting_fd],
                    )
                )
            wait_all([receiver, sender], timeout_s)
            report = msgspec.json.decode(sender.output, type=Report)
            _, _, line = receiver.output.partition(b"\n")
            heard = Heard(contents(notes_fd), contents(turns_fd))
            counters = received_counters(line) | report.counters
            return assembled(case, round, order, report, counters, heard)

    def _receiver_command(self, case: Case, notes_fd: int, turns_fd: int) -> list[str]:
        command = [sys.executable, "-m", f"{PACKAGE}.receiver"]
        substitute = case.parameters["receiver_command"]
        if substitute is not None:
            # It does not know that it is to die with us: `attached` sees to it.
            attached = [sys.executable, "-m", "tinygram.bench.attached", str(os.getpid())]
            command = attached + shlex.split(str(substitute))
        return command + self.receiver_options(case, notes_fd, turns_fd)

    def receiver_options(self, case: Case, notes_fd: int, turns_fd: int) -> list[str]:
        """What the receiver of a run is told."""
        messages = whole(case, "warm_up_messages") + whole(case, "messages")
        options = {
            "--messages": messages,
            "--warm-up": whole(case, "warm_up_messages"),
            "--min-bytes": case.message_bytes.min,
            "--max-bytes": case.message_bytes.max,
            "--seed": self.seed,
            "--receive-buffer": whole(case, "receive_buffer_bytes"),
            "--congestion-control": str(case.parameters["congestion_control"]),
            "--notes": f"/dev/fd/{notes_fd}",
            "--parent": os.getpid(),
        }
        if case.producers > 1:
            options |= {"--producers": case.producers, "--turns": f"/dev/fd/{turns_fd}"}
        cpu = placement(case.placement).receiver_cpu
        if cpu is not None:
            options["--cpu"] = cpu
        return [str(word) for option in options.items() for word in option]

    def order(self, case: Case, round: int, port: int, network: Network) -> Order:
        """What the sender of a run is told."""
        pace = None
        if case.rate_per_s is not None:
            pace = Pace(
                rate_per_s=case.rate_per_s,
                arrival=str(case.arrival),
                burst=case.burst or 1,
                duration_ns=whole(case, "duration_ns"),
                # The same arrivals for every case of a round, others in the next round.
                seed=self.seed + round,
            )
        return Order(
            port=port,
            runtime=case.runtime,
            implementation=case.implementation,
            strategy=case.strategy,
            seed=self.seed,
            min_bytes=case.message_bytes.min,
            max_bytes=case.message_bytes.max,
            messages=whole(case, "messages"),
            warm_up=whole(case, "warm_up_messages"),
            pace=pace,
            producers=case.producers,
            has_busy_thread=bool(case.parameters["busy_thread"]),
            congestion_control=str(case.parameters["congestion_control"]),
            has_private_network=network.is_private,
            parent_pid=os.getpid(),
            cpu=placement(case.placement).sender_cpu,
            flat_out_burst=int(case.parameters.get("flat_out_burst") or BURST_MESSAGES),
        )

    def counting_environment(self) -> dict[str, str]:
        """The environment of a sender whose writes are counted."""
        library = f"/proc/self/fd/{self.counting_fd}"
        others = os.environ.get("LD_PRELOAD", "")
        return os.environ | {"LD_PRELOAD": f"{library} {others}".strip()}


def kept_failure(case: Case, round: int, measure: Callable[[Case, int], Run]) -> Run:
    """What `measure` makes, its failure put into the run."""
    try:
        return measure(case, round)
    except RunError as failure:
        return Run(case.case_id, round, {}, {}, failure=str(failure))
    except Exception as fault:  # noqa: BLE001 - it is kept in the run, and the other runs too
        name = type(fault).__name__
        return Run(case.case_id, round, {}, {}, failure=f"the run broke: {name}: {fault}")


@contextmanager
def stream_bench(seed: int) -> Iterator[StreamBench]:
    """A bench that leaves nothing behind: the counting library lies in memory only."""
    fd = os.memfd_create("tinygram-count-writes")
    try:
        os.write(fd, _native.count_writes_library())
        yield StreamBench(seed, fd)
    finally:
        os.close(fd)


def assembled(
    case: Case,
    round: int,
    order: Order,
    report: Report,
    counters: dict[str, int | None],
    heard: Heard,
) -> Run:
    """Check that every byte is accounted for, match messages to notes, and add up."""
    pool = message_pool(order.seed, order.min_bytes, order.max_bytes, order.producers)
    warm_up_bytes = pool.stream_bytes(order.warm_up)
    stream_bytes = pool.stream_bytes(order.warm_up + order.messages)
    try:
        reads, noted_bytes, last_ns = _native.read_notes(heard.notes, report.start_ns)
        if noted_bytes != stream_bytes:
            raise RunError(f"the receiver noted {noted_bytes} of the {stream_bytes} bytes")
        written_bytes = counters["written_bytes"]
        if written_bytes is not None and written_bytes != stream_bytes - warm_up_bytes:
            raise RunError(
                f"the counted writes hold {written_bytes} bytes, the measured stream "
                f"{stream_bytes - warm_up_bytes}"
            )
        if case.parameters["receiver_command"] is None and (
            counters["peer_port"] != report.local_port
        ):
            raise RunError("another program's connection reached the receiver")
        matched = _matched(order, report, pool, heard)
    except ValueError as error:
        raise RunError(f"notes and messages do not match: {error}") from error
    counters |= {
        "messages": order.messages,
        "bytes": stream_bytes - warm_up_bytes,
        "run_time_ns": last_ns - report.start_ns,
        "reads": reads,
    }
    histograms = report.histograms | {
        name: histogram.to_base64() for name, histogram in matched.items()
    }
    warnings = warnings_of(case, counters, has_private_network=order.has_private_network)
    return Run(case.case_id, round, counters, histograms, warnings)


def _matched(
    order: Order, report: Report, pool: _native.MessagePool, heard: Heard
) -> dict[str, _native.Histogram]:
    """Latency from the intended time, where there is one, and queueing from the hand-over."""
    pace = order.pace
    turns = None if order.producers == 1 else heard.turns
    histograms = {}
    if pace is None or order.producers > 1:
        hand_overs = list(zip(_handed_over(order), report.hand_overs_ns, strict=True))
        queueing = _native.match_flat_out(heard.notes, pool, hand_overs, turns)
        _check_count(queueing, len(hand_overs))
        histograms["queueing_ns"] = queueing
    if pace is not None:
        latency = _native.match_paced(
            heard.notes,
            pool,
            order.warm_up,
            report.start_ns,
            pace.rate_per_s,
            pace.arrival,
            pace.burst,
            pace.duration_ns,
            pace.seed,
            turns,
        )
        _check_count(latency, order.messages)
        histograms["latency_ns"] = latency
    return histograms


def _handed_over(order: Order) -> list[int]:
    """The messages whose hand-over the sender notes, producer by producer."""
    last = order.warm_up + order.messages
    step = order.producers * (BURST_MESSAGES if order.pace is None else 1)
    firsts = range(order.warm_up, order.warm_up + order.producers)
    return [index for first in firsts for index in range(first, last, step)]


def _check_count(histogram: _native.Histogram, messages: int) -> None:
    if histogram.count != messages:
        raise RunError(f"the receiver tells the turns of {histogram.count} of {messages} messages")


def received_counters(line: bytes) -> dict[str, int]:
    """The receiver's counters: the line of JSON after `listening PORT`."""
    try:
        return msgspec.json.decode(line, type=dict[str, _Counter])
    except ValueError as error:
        shown = line[:100].decode(errors="replace")
        raise RunError(
            f"the receiver's report {shown!r} is no JSON object of whole numbers: {error}"
        ) from error


def whole(case: Case, name: str) -> int:
    """A parameter of the case that is a whole number."""
    value = case.parameters[name]
    assert isinstance(value, int), f"{name} of {case.case_id} is {value!r}"
    return value
