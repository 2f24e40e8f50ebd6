"""One run of `stream`: the orders for the receiver and the sender, and their answers."""

from __future__ import annotations

import os
import shlex
import time
from contextlib import nullcontext
from functools import partial

import msgspec
from msgspec.structs import replace

from tinygram_bench.host.network.connections import Known
from tinygram_bench.host.placement import Placement
from tinygram_bench.host.probes.kernel import CounterFds
from tinygram_bench.hosts.clock import FRESH_NS, notes_here, notes_there
from tinygram_bench.links import LOCALHOST
from tinygram_bench.loads.source import BURST_MESSAGES
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Case
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.processes.children import Told
from tinygram_bench.processes.orders import Arrived, End, Start
from tinygram_bench.processes.workers import RunError, contents, session_of
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.runs.stage import Address, Turn
from tinygram_bench.runs.workload import Exchanged, TakesTurns, Waiting
from tinygram_bench.tls.certificates import Identity
from tinygram_bench.workloads.stream import slices as of_slices
from tinygram_bench.workloads.stream.order import (
    Heard,
    Order,
    Pace,
    ReceiverOrder,
    Report,
    Warm,
)
from tinygram_bench.workloads.stream.outcome import assembled, received_counters
from tinygram_bench.workloads.turns import arrival_seed
from tinygram_bench.workloads.warnings import with_bound

PACKAGE = "tinygram_bench.workloads.stream"
_RECEIVER, _SENDER = "receiver", "sender"
_NOTES, _TURNS, _REPORT = "notes", "turns", "report"
"""The names of files that the two ends write."""


class Stream(TakesTurns):
    """A sender and a receiver; only acknowledgements go back.

    The far end listens, and the near end connects; in reverse the far end sends (decision 0042).
    `generator`: the number of this generator in a cluster; each has arrivals of its own.
    """

    is_timed_one_way = True

    def __init__(self, seed: int, generator: int = 0) -> None:
        super().__init__(seed)
        self._generator = generator

    def where(self, case: Case) -> Placement:
        """The sender is on the same core in either direction.

        With both directions at once each host has a core, as two hosts have.
        """
        found = super().where(case)
        if not _is_reverse(case) or StreamParameters.of(case).bidirectional:
            return found
        return Placement(sender_cpu=found.receiver_cpu, receiver_cpu=found.sender_cpu)

    def listen(self, turn: Turn) -> Address | None:
        """Have a receiver listen: ours, or the program that takes its place.

        A sender at the far end does not listen before it has its whole order.
        """
        if _is_reverse(turn.case):
            return None
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
        if _is_reverse(turn.case):
            _sender(turn)
        elif StreamParameters.of(turn.case).receiver_command is None:
            _receiver(turn)

    def start_near(self, turn: Turn) -> None:
        (_receiver if _is_reverse(turn.case) else _sender)(turn)

    def exchange(self, turn: Turn, address: Address | None) -> Exchanged:
        """Have the sender send, and match its messages to the receiver's notes."""
        turn.stage.look_at_clock()
        return _collected(turn, self._begun(turn, address))

    def at_once(self, case: Case) -> str:
        """One key for both directions of a way, where they are measured at the same time."""
        if not StreamParameters.of(case).bidirectional:
            return case.case_id
        return "/".join((case.runtime, case.implementation, case.strategy))

    def own_ns(self, case: Case) -> int:
        return StreamParameters.of(case).duration_ns or 0

    def waits_ns(self, case: Case) -> int:
        return of_slices.waits_ns(case)

    def waits_elsewhere_ns(self, case: Case) -> int:
        return of_slices.waits_elsewhere_ns(case)

    def warmed_up(self, turn: Turn, address: Address | None, slices: Slices) -> Waiting:
        """Have the sender connect and warm up, and wait for its slices."""
        order = self._begun(turn, address, slices)
        sender = _sender(turn)
        pids = turn.hear(sender, Warm).pids
        if turn.programs:
            receivers = [pid for program in turn.programs for pid in session_of(program.pid)]
        else:
            receivers = list(_receiver(turn).pids)
        return Waiting(
            # Processes on another host have no pids here.
            pids if sender.pids else (),
            tuple(receivers),
            [sender],
            start=lambda at_ns: sender.tell(Start(_at_sender_ns(turn, at_ns))),
            collect=lambda used: _collected(turn, order, used),
        )

    def _begun(self, turn: Turn, address: Address | None, slices: Slices | None = None) -> Order:
        """Have the two ends meet, and the sender begin with the warm-up. Raises RunError."""
        sender = _sender(turn)
        if address is None:
            order = self._sender_order(turn, Address(turn.link.far_address, 0), slices)
            sender.tell(order)
            address = turn.listening(sender)
            _receiver(turn).tell(self._receiver_order(turn, address))
        else:
            order = self._sender_order(turn, address, slices)
            sender.tell(order)
        if StreamParameters.of(turn.case).tls:
            turn.hear(_receiver(turn), Arrived)
            sender.tell(Arrived())
        return order

    def _receiver_order(self, turn: Turn, sender: Address | None = None) -> ReceiverOrder:
        """The receiver's order. `sender`: where the sender listens; None: it connects."""
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
            port=0 if sender is None else sender.port,
            client=turn.link.client,
            may_end_early=asked.slice_ns is not None and case.is_flat_out,
            tls=_identity(turn) if asked.tls else None,
            connections=case.connections,
        )

    def _sender_order(self, turn: Turn, address: Address, slices: Slices | None) -> Order:
        """An order. `address`: where the receiver listens, or with port 0 where the sender does."""
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
                seed=arrival_seed(self.seed, turn.round, self._generator),
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
            counter_fds=_counter_fds(turn),
            flat_out_burst=asked.study.flat_out_burst or BURST_MESSAGES,
            spin_ns=asked.study.spin_ns,
            sleep_ns=asked.study.sleep_ns,
            # A receiver that is not ours cannot know its sender, and accepts any.
            client=link.client if asked.receiver_command is None else Known(),
            report_fd=_memory(turn, _REPORT),
            slices=slices,
            pushes_out=of_slices.is_pushed_out(case),
            certificate=_certificate(turn) if asked.tls else None,
            connections=case.connections,
        )


def _is_reverse(case: Case) -> bool:
    return StreamParameters.of(case).direction == "reverse"


def _receiver(turn: Turn) -> Told:
    """The receiving process; it is started when it is first asked for."""
    start = turn.stage.near if _is_reverse(turn.case) else turn.stage.far
    fds = [_memory(turn, name) for name in (_NOTES, _TURNS)]
    return start(_named(turn, _RECEIVER), f"{PACKAGE}.receiver", pass_fds=fds)


def _sender(turn: Turn) -> Told:
    """The sending process; it is started when it is first asked for."""
    start = turn.stage.far if _is_reverse(turn.case) else turn.stage.near
    fds = [_memory(turn, _REPORT), *(_counter_fds(turn) or ())]
    role = _named(turn, _SENDER)
    return start(role, f"{PACKAGE}.sender", counts_writes=True, pass_fds=fds)


def _named(turn: Turn, what: str) -> str:
    """The name of a role or file on a stage, which both directions share where they are at once."""
    asked = StreamParameters.of(turn.case)
    return f"{asked.direction} {what}" if asked.bidirectional else what


def _counter_fds(turn: Turn) -> CounterFds:
    """Where the sender reads the kernel's counters of the other host; None where it cannot.

    Counters of two directions at once cannot be told apart.
    """
    if StreamParameters.of(turn.case).bidirectional:
        return None
    link = turn.link
    return link.counter_fds_of_far if _is_reverse(turn.case) else link.counter_fds


def _identity(turn: Turn) -> Identity:
    """The identity of the receiver, which has its key: this host's, or one made on the far host."""
    return turn.stage.identity() if _is_reverse(turn.case) else turn.stage.far_identity()


def _certificate(turn: Turn) -> str:
    """The receiver's certificate, PEM. Raises RunError where it has shown none."""
    stage = turn.stage
    return stage.identity().certificate if _is_reverse(turn.case) else stage.certificate()


def _at_sender_ns(turn: Turn, at_ns: int) -> int:
    """A time of this host's clock, converted to the sender's. Raises RunError."""
    host = turn.stage.far_host
    if host is None or not _is_reverse(turn.case):
        return at_ns
    return host.clock.difference_now().far_ns(at_ns)


def _collected(turn: Turn, order: Order, used: Used | None = None) -> Exchanged:
    """What both ends tell when the stream has ended. Raises RunError.

    Between two hosts all times become those of the sender's clock, by which messages were due.
    """
    host = turn.stage.far_host
    with host.clock.looking() if host is not None and used is None else nullcontext():
        turn.hear(_sender(turn), End)
    report = _report(turn)
    counters = _counted(turn) | report.counters
    heard = Heard(contents(_memory(turn, _NOTES)), contents(_memory(turn, _TURNS)))
    collected_ns, start_ns = time.monotonic_ns(), report.start_ns
    add_up = partial(
        assembled,
        turn.case,
        turn.round,
        order,
        report,
        used=used,
        has_private_network=turn.link.counter_fds is not None,
    )
    if host is None:
        return Exchanged(add_up(counters, heard, collected_ns), start_ns)
    if _is_reverse(turn.case):
        # By what was known of the clock when the sender was told when to start.
        start_ns = host.clock.difference_now().near_ns(start_ns)
    # Cases that took turns have all ended by the first look after the last slice of all.
    over_ns = collected_ns if order.slices is None else start_ns + order.slices.over_ns
    host.clock.look(max(over_ns, collected_ns - FRESH_NS))
    found = host.clock.followed(start_ns)
    if _is_reverse(turn.case):
        notes = notes_there(heard.notes, found)
        collected_ns, start_ns = found.far_ns(collected_ns), found.near_ns(report.start_ns)
    else:
        notes = notes_here(heard.notes, found)
    heard = replace(heard, notes=notes, bound_ns=found.bound_ns)
    run = add_up(counters, heard, collected_ns)
    return Exchanged(with_bound(run, found.bound_ns, host.clock.round_trip_ns), start_ns)


def _report(turn: Turn) -> Report:
    try:
        return msgspec.json.decode(contents(_memory(turn, _REPORT)), type=Report)
    except (ValueError, RecursionError) as error:
        raise RunError(f"the sender's report cannot be read: {error}") from error


def by_runtime_and_link(case: Case) -> tuple[str, str, str]:
    """The key of cases that share processes: starting these would take most of a short run."""
    return case.runtime, case.link, case.placement


def _memory(turn: Turn, name: str) -> int:
    return turn.stage.memory(_named(turn, name))


def _counted(turn: Turn) -> dict[str, int]:
    """The receiver's counters, once it has ended, or is ready for the next stream."""
    if turn.programs:
        (program,) = turn.programs
        turn.wait_ended(program)
        _, _, line = program.output.partition(b"\n")
        return received_counters(line)
    return turn.hear(_receiver(turn), dict[str, int])


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
