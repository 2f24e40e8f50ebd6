"""One run of a peer: its server and its client on the cores and in a network like ours."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tinygram import _native
from tinygram.bench.crosscheck.peer import Reading
from tinygram.bench.crosscheck.selection import SECONDS, Chosen, work_of
from tinygram.bench.interrupts import INTERRUPTS
from tinygram.bench.network import Network, private_network, set_congestion_control
from tinygram.bench.placement import placement
from tinygram.bench.probes.kernel import kernel_counters
from tinygram.bench.probes.owners import sockets_of
from tinygram.bench.result import PeerRun
from tinygram.bench.workers import RunError, Worker

_LISTEN_LIMIT_S = 10.0
_CLIENT_LIMIT_S = SECONDS + 20.0
"""Agreeing, warming up and summing up are beside the time that it works."""
_STEP_S = 0.005
_MOST_OUTPUT_BYTES = 1 << 20


def run_peer(chosen: Chosen, round: int) -> PeerRun:
    """Run a peer once; a failure is in the run, not raised."""
    peer_id = chosen.peer.peer_id
    try:
        reading, counters = _measure(chosen)
    except RunError as failure:
        return PeerRun(peer_id, round, None, {}, failure=str(failure))
    except Exception as fault:  # noqa: BLE001 - it is kept in the run, and the other runs too
        told = f"the run broke: {type(fault).__name__}: {fault}"
        return PeerRun(peer_id, round, None, {}, failure=told)
    return PeerRun(peer_id, round, reading.value, counters)


def _measure(chosen: Chosen) -> tuple[Reading, dict[str, int | None]]:
    program = chosen.peer.program
    where = placement(chosen.case.placement)
    with ExitStack() as stack:
        network = stack.enter_context(private_network())
        with INTERRUPTS.held(), network.entered():
            work = work_of(chosen.case, *_free_ports())
            if network.is_private:
                set_congestion_control(work.congestion_control)
        server = _started(
            *(stack, network, f"{program} server", chosen.setting.server(work)),
            where.receiver_cpu,
        )
        _wait_listening(server, work.port)
        before = _kernel(network)
        client = _started(
            *(stack, network, f"{program} client", chosen.setting.client(work)),
            where.sender_cpu,
        )
        if not client.wait_ended(_CLIENT_LIMIT_S):
            raise RunError(f"the {client.role} did not finish within {_CLIENT_LIMIT_S:g} s")
        after = _kernel(network)
        failure = client.failure
        try:
            output = client.output[-_MOST_OUTPUT_BYTES:].decode(errors="replace")
            reading = chosen.setting.read(output, work)
        except ValueError as error:
            faults = (failure, f"the {client.role}: {error}", server.failure)
            raise RunError("; ".join(fault for fault in faults if fault)) from error
        if failure is not None:
            raise RunError(failure)
    return reading, {"messages": reading.messages, **_since(before, after)}


def _started(
    stack: ExitStack, network: Network, role: str, words: Sequence[str], cpu: int | None
) -> Worker:
    """A program that dies with us, on its core from the beginning. Raises RunError."""
    attached = [sys.executable, "-m", "tinygram.bench.attached", str(os.getpid())]
    with INTERRUPTS.held(), network.entered(), _on_core(cpu):
        return stack.enter_context(Worker(role, [*attached, *words]))


@contextmanager
def _on_core(cpu: int | None) -> Iterator[None]:
    """What the block starts is born on this core."""
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
    """Two that nobody has in this network; on the host's another program may be faster."""
    with socket.socket() as one, socket.socket() as other:
        for sock in (one, other):
            sock.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _wait_listening(server: Worker, port: int) -> None:
    """Until the server, and nobody else, listens on the port. Raises RunError."""
    give_up_s = time.monotonic() + _LISTEN_LIMIT_S
    while not _listens(server, port):
        if server.has_ended:
            raise RunError(server.failure or f"the {server.role} ended before it listened")
        if time.monotonic() > give_up_s:
            raise RunError(f"the {server.role} did not listen within {_LISTEN_LIMIT_S:g} s")
        time.sleep(_STEP_S)


def _listens(server: Worker, port: int) -> bool:
    try:
        own = list(sockets_of(server.pid))
        listeners = _native.proc_sockets(f"/proc/{server.pid}/net", port, own)[1]
    except OSError:  # It has just ended.
        return False
    return bool(listeners)


def _kernel(network: Network) -> dict[str, int] | None:
    """The kernel's counters; None where others' traffic is in them."""
    if not network.is_private:
        return None
    with INTERRUPTS.held(), network.entered():
        return kernel_counters()


def _since(before: dict[str, int] | None, after: dict[str, int] | None) -> dict[str, int | None]:
    if before is None or after is None:
        return {}
    return {name: count - before[name] for name, count in after.items()}
