"""One run of a peer: its server and its client, on our cores and in a network like ours."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tinygram_bench.crosscheck.peer import Reading
from tinygram_bench.crosscheck.selection import SECONDS, Chosen, work_of
from tinygram_bench.host.network import Network, private_network
from tinygram_bench.host.network.settings import set_congestion_control
from tinygram_bench.host.placement import placement
from tinygram_bench.host.probes.kernel import counted_between, counters_in
from tinygram_bench.host.probes.listening import wait_listening
from tinygram_bench.model.cross_check import PeerRun
from tinygram_bench.processes.attached import attached
from tinygram_bench.processes.workers import RunError, Worker

_LISTEN_LIMIT_S = 10.0
_CLIENT_LIMIT_S = SECONDS + 20.0
"""The limit leaves room for connecting, warming up and summing up beside the work itself."""
_MOST_OUTPUT_BYTES = 1 << 20


def run_peer(chosen: Chosen, round: int) -> PeerRun:
    """Run a peer once; a failure is not raised, but noted in the run."""
    peer_id = chosen.peer.peer_id
    try:
        reading, counters = _measure(chosen)
    except RunError as failure:
        return PeerRun(peer_id, round, None, {}, failure=str(failure))
    except Exception as fault:  # noqa: BLE001 - kept in the run; the other runs go on
        told = f"the run broke: {type(fault).__name__}: {fault}"
        return PeerRun(peer_id, round, None, {}, failure=told)
    return PeerRun(peer_id, round, reading.value, counters)


def _measure(chosen: Chosen) -> tuple[Reading, dict[str, int | None]]:
    program = chosen.peer.program
    where = placement(chosen.case.placement)
    with ExitStack() as stack:
        network = stack.enter_context(private_network())
        with network.entered():
            work = work_of(chosen.case, *_free_ports())
            if network.is_private:
                set_congestion_control(work.congestion_control)
        server = _started(
            *(stack, network, f"{program} server", chosen.setting.server(work)),
            where.receiver_cpu,
        )
        wait_listening(server, work.port, _LISTEN_LIMIT_S, by_itself=True)
        counter_fds = () if network.is_private else None
        before = counters_in(network, counter_fds)
        client = _started(
            *(stack, network, f"{program} client", chosen.setting.client(work)),
            where.sender_cpu,
        )
        if not client.wait_ended(_CLIENT_LIMIT_S):
            raise RunError(f"the {client.role} did not finish within {_CLIENT_LIMIT_S:g} s")
        after = counters_in(network, counter_fds)
        failure = client.failure
        try:
            output = client.output[-_MOST_OUTPUT_BYTES:].decode(errors="replace")
            reading = chosen.setting.read(output, work)
        except ValueError as error:
            faults = (failure, f"the {client.role}: {error}", server.failure)
            raise RunError("; ".join(fault for fault in faults if fault)) from error
        if failure is not None:
            raise RunError(failure)
    return reading, {"messages": reading.messages, **counted_between(before, after)}


def _started(
    stack: ExitStack, network: Network, role: str, words: Sequence[str], cpu: int | None
) -> Worker:
    """Start a program, on its core from the beginning, that dies with us. Raises RunError."""
    with network.entered(), _on_core(cpu):
        return stack.enter_context(Worker(role, attached(words)))


@contextmanager
def _on_core(cpu: int | None) -> Iterator[None]:
    """Within the block, processes start on this core (None: on any)."""
    if cpu is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _free_ports() -> tuple[int, int]:
    """Two free ports of this network; in the host's own, another program may take them first."""
    with socket.socket() as one, socket.socket() as other:
        for sock in (one, other):
            sock.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
