"""One run of `stream`: the orders for the receiver and the sender, and their answers."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass

from msgspec.structs import replace

from tinygram_bench.hosts.clock import notes_here
from tinygram_bench.links import LOCALHOST, parse_link
from tinygram_bench.loads.source import BURST_MESSAGES
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Case
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.processes.children import Child, Told
from tinygram_bench.processes.orders import Start
from tinygram_bench.processes.workers import contents, session_of
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.runs.stage import Address, Turn
from tinygram_bench.runs.workload import Exchanged, TakesTurns, Waiting
from tinygram_bench.statistics.workloads.loads import is_limit
from tinygram_bench.ways import runtimes
from tinygram_bench.workloads.stream.order import (
    Heard,
    Order,
    Pace,
    ReceiverOrder,
    Report,
    Warm,
)
from tinygram_bench.workloads.stream.outcome import assembled, received_counters
from tinygram_bench.workloads.stream.warnings import with_bound

PACKAGE = "tinygram_bench.workloads.stream"
_RECEIVER = "receiver"
_NOTES, _TURNS, _ARRIVED = "notes", "turns", "arrived"
"""Files that the two ends write."""
_DELAYED_ACK_NS = 45_000_000
"""An acknowledgement may be delayed for 40 ms, and a tick."""
_CORKED_NS = 220_000_000
"""What is corked flat out leaves after 200 ms (tcp(7)), a round trip, and a few ticks."""
_QUEUED_NS = 10_000_000
"""By then the slowest sender behind a queue has taken what is in it, 200 messages, and a receiver
what a native sender has put into the socket's buffers."""
_SEEDS_APART = 1_000_003
"""Between the seeds of two generators' arrivals: more rounds than there are."""
_UNSENT = 3
"""A send buffer grows to this many times what is on its way (tcp_sndbuf_expand in Linux: 2)."""


@dataclass(frozen=True)
class Stream(TakesTurns):
    """A sender and a receiver; only acknowledgements go back.

    `generator`: which of a cluster's this is; each has arrivals of its own.
    """

    generator: int = 0

    def listen(self, turn: Turn) -> Address:
        """Have a receiver listen: ours, or the program that takes its place."""
        if turn.stage.far_host is not None:
            turn.stage.far_host.clock.look()
        order = self._receiver_order(turn)
        substitute = StreamParameters.of(turn.case).receiver_command
        if substitute is not None:
            words = [*shlex.split(substitute), *_options(turn, order)]
            fds = [order.notes_fd, order.turns_fd]
            program = turn.program(_RECEIVER, words, pass_fds=fds)
            return Address(turn.link.far_address, program.wait_listening(turn.listen_limit_s))
        receiver = _receiver(turn)
        receiver.tell(order)
        return turn.listening(receiver)

    def start_far(self, turn: Turn) -> None:
        if StreamParameters.of(turn.case).receiver_command is None:
            _receiver(turn)

    def start_near(self, turn: Turn) -> None:
        _sender(turn)

    def exchange(self, turn: Turn, address: Address | None) -> Exchanged:
        """Have the sender send, and match its messages to the receiver's notes."""
        order = self._sender_order(turn, address)
        sender = _sender(turn)
        sender.tell(order)
        return _collected(turn, order, sender)

    def own_ns(self, case: Case) -> int:
        return StreamParameters.of(case).duration_ns or 0

    def waits_ns(self, case: Case) -> int:
        link = parse_link(case.link)
        strategy = parse_strategy(case.strategy)
        # Nagle waits a round trip for an acknowledgement.
        waits_ns = 2 * link.rtt_ns + 2 * link.jitter_ns + (strategy.duration_ns or 0)
        if strategy.name == "nagle":
            waits_ns += _DELAYED_ACK_NS
        if case.is_flat_out and strategy.name == "cork":
            waits_ns += _CORKED_NS
        if case.is_flat_out and (case.runtime in runtimes.HANDING_OVER or is_limit(case)):
            waits_ns += _QUEUED_NS
        if case.is_flat_out and link.bandwidth_bits_per_s is not None:
            on_link_bits = link.bandwidth_bits_per_s * link.rtt_ns / 1e9 + 8 * link.queue_bytes
            waits_ns += round(_UNSENT * on_link_bits / link.bandwidth_bits_per_s * 1e9)
        return waits_ns

    def warmed_up(self, turn: Turn, address: Address | None, slices: Slices) -> Waiting:
        """Have the sender connect and warm up, and wait for its slices."""
        order = replace(self._sender_order(turn, address), slices=slices)
        sender = _sender(turn)
        sender.tell(order)
        pids = turn.hear(sender, Warm).pids
        receivers = [
            *(pid for program in turn.programs for pid in session_of(program.pid)),
            *(pid for child in turn.stage.children if child is not sender for pid in child.pids),
        ]
        return Waiting(
            pids,
            tuple(receivers),
            [sender],
            start=lambda at_ns: sender.tell(Start(at_ns)),
            collect=lambda used: _collected(turn, order, sender, used),
        )

    def _receiver_order(self, turn: Turn) -> ReceiverOrder:
        case = turn.case
        asked = StreamParameters.of(case)
        return ReceiverOrder(
            messages=asked.warm_up_messages + asked.messages,
            warm_up=asked.warm_up_messages,
            min_bytes=case.message_bytes.min + asked.study.more_bytes,
            max_bytes=case.message_bytes.max + asked.study.more_bytes,
            seed=self.seed,
            receive_buffer_bytes=asked.receive_buffer_bytes,
            congestion_control=asked.congestion_control,
            producers=case.producers,
            notes_fd=_memory(turn, _NOTES),
            turns_fd=_memory(turn, _TURNS),
            host=turn.link.far_address,
            sender_host=turn.link.client_host,
            may_end_early=asked.slice_ns is not None and case.is_flat_out,
            tls=turn.stage.identity() if asked.tls else None,
            arrived_fd=_memory(turn, _ARRIVED),
            connections=case.connections,
        )

    def _sender_order(self, turn: Turn, address: Address | None) -> Order:
        assert address is not None, "there is always a receiver"
        case, link = turn.case, turn.link
        asked = StreamParameters.of(case)
        pace = None
        if case.rate_per_s is not None:
            pace = Pace(
                rate_per_s=case.rate_per_s,
                arrival=str(case.arrival),
                burst=case.burst or 1,
                duration_ns=asked.duration_ns or 0,
                # The same arrivals for every case of a round, others in the next round.
                seed=self.seed + turn.round + self.generator * _SEEDS_APART,
                sleeps=asked.study.pacer_sleeps,
            )
        return Order(
            host=address.host,
            port=address.port,
            runtime=case.runtime,
            implementation=case.implementation,
            strategy=parse_strategy(case.strategy),
            seed=self.seed,
            min_bytes=case.message_bytes.min + asked.study.more_bytes,
            max_bytes=case.message_bytes.max + asked.study.more_bytes,
            messages=asked.messages,
            warm_up=asked.warm_up_messages,
            pace=pace,
            producers=case.producers,
            has_busy_thread=asked.busy_thread,
            congestion_control=asked.congestion_control,
            counter_fds=link.counter_fds,
            flat_out_burst=asked.study.flat_out_burst or BURST_MESSAGES,
            spin_ns=asked.study.spin_ns,
            sleep_ns=asked.study.sleep_ns,
            # A receiver that is not ours gets no `sender_host`: it accepts any sender.
            own_host=link.client_host if asked.receiver_command is None else None,
            certificate=turn.stage.identity().certificate if asked.tls else None,
            arrived_fd=_memory(turn, _ARRIVED),
            connections=case.connections,
        )


def _receiver(turn: Turn) -> Told:
    """The receiving process; it is started when it is first asked for."""
    fds = [_memory(turn, name) for name in (_NOTES, _TURNS, _ARRIVED)]
    return turn.stage.far(_RECEIVER, f"{PACKAGE}.receiver", pass_fds=fds)


def _sender(turn: Turn) -> Child:
    """The sending process; it is started when it is first asked for."""
    fds = [*(turn.link.counter_fds or ()), _memory(turn, _ARRIVED)]
    return turn.stage.near("sender", f"{PACKAGE}.sender", counts_writes=True, pass_fds=fds)


def _collected(turn: Turn, order: Order, sender: Child, used: Used | None = None) -> Exchanged:
    """What both ends tell when the stream has ended. Raises RunError."""
    report = turn.hear(sender, Report)
    counters = _counted(turn) | report.counters
    heard = Heard(contents(_memory(turn, _NOTES)), contents(_memory(turn, _TURNS)))
    host = turn.stage.far_host
    if host is None:
        run = assembled(turn.case, turn.round, order, report, counters, heard, used)
        return Exchanged(run, report.start_ns)
    host.clock.look()
    found = host.clock.difference(report.start_ns)
    heard = replace(heard, notes=notes_here(heard.notes, found))
    counters |= {
        "clock_bound_ns": found.bound_ns,
        "clock_round_trip_ns": host.clock.round_trip_ns,
    }
    run = assembled(turn.case, turn.round, order, report, counters, heard, used)
    return Exchanged(with_bound(run, found.bound_ns, host.clock.round_trip_ns), report.start_ns)


def by_runtime_and_link(case: Case) -> tuple[str, str, str]:
    """The key of cases that share processes: many short runs would spend their time on starts."""
    return case.runtime, case.link, case.placement


def _memory(turn: Turn, name: str) -> int:
    """A file in memory, which the receiver writes."""

    def make() -> int:
        fd = os.memfd_create(name)
        turn.stage.stack.callback(os.close, fd)
        return fd

    return turn.stage.once(name, make)


def _counted(turn: Turn) -> dict[str, int]:
    """The receiver's counters, when it has ended, or is ready for the next stream."""
    if turn.programs:
        (program,) = turn.programs
        turn.wait_ended(program)
        _, _, line = program.output.partition(b"\n")
        return received_counters(line)
    return turn.hear(turn.stage.child(_RECEIVER), dict[str, int])


def _options(turn: Turn, order: ReceiverOrder) -> list[str]:
    """The order as a command line, for a receiver that is not ours (receiver.py)."""
    options: dict[str, object] = {
        "--messages": order.messages,
        "--warm-up": order.warm_up,
        "--min-bytes": order.min_bytes,
        "--max-bytes": order.max_bytes,
        "--seed": order.seed,
        "--receive-buffer": order.receive_buffer_bytes,
        "--congestion-control": order.congestion_control,
        "--notes": f"/dev/fd/{order.notes_fd}",
        "--parent": os.getpid(),
    }
    if order.may_end_early:
        options["--may-end-early"] = None
    if order.producers > 1:
        options |= {"--producers": order.producers, "--turns": f"/dev/fd/{order.turns_fd}"}
    if order.host != LOCALHOST:
        options["--host"] = order.host
    if turn.stage.where.receiver_cpu is not None:
        options["--cpu"] = turn.stage.where.receiver_cpu
    return [str(word) for option in options.items() for word in option if word is not None]
