"""Pairs of connected sockets, the peer's side of them, and processes that have one end."""

from __future__ import annotations

import array
import fcntl
import select
import socket
import ssl
import struct
import subprocess
import sys
import termios
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import HasFileno

LONGEST_S = 60.0
"""What anything here may take: far longer than it does, for a host may stop us for a while."""

Pair = tuple[socket.socket, socket.socket]
"""Ours and the peer's end of a connection."""

STALLED = 8 << 20
"""More bytes than any socket buffer here holds."""


def tcp_pair() -> Pair:
    """Two ends of one loopback connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ours = socket.create_connection(listening.getsockname())
        peer, _ = listening.accept()
    return ours, peer


def anonymous(protocol: ssl._SSLMethod) -> ssl.SSLContext:
    """TLS without certificates."""
    context = ssl.SSLContext(protocol)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("aNULL:@SECLEVEL=0")
    return context


def receive_exactly(peer: socket.socket, count: int) -> bytes:
    """`count` bytes; TimeoutError when they do not come, EOFError when the stream ends first."""
    received = bytearray()
    while len(received) < count:
        chunk = peer.recv(min(count - len(received), 1 << 20))
        if not chunk:
            raise EOFError(f"{len(received)} of {count} bytes came: {bytes(received[:80])!r}")
        received += chunk
    return bytes(received)


def receive_all(peer: socket.socket) -> bytes:
    """Everything up to the end of the stream."""
    received = bytearray()
    while chunk := peer.recv(1 << 20):
        received += chunk
    return bytes(received)


def waiting_bytes(peer: socket.socket) -> int:
    """What arrived and was not yet received."""
    count = array.array("i", [0])
    fcntl.ioctl(peer, termios.FIONREAD, count)
    return count[0]


def reset(peer: socket.socket) -> None:
    """End the connection with a RST: what is under way is lost."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait for a condition; AssertionError after `LONGEST_S`."""
    give_up_s = time.monotonic() + LONGEST_S
    while not holds():
        assert time.monotonic() < give_up_s, what
        time.sleep(0.001)


def wait_until_reset(ours: socket.socket) -> None:
    """Wait until our kernel knows that the peer has reset the connection."""
    poll = select.poll()
    poll.register(ours, 0)
    wait_until(lambda: bool(poll.poll(0)), "no reset came")


def unacknowledged_bytes(sock: HasFileno) -> int:
    """What our kernel has, and the peer's has not acknowledged."""
    queued = array.array("i", [0])
    fcntl.ioctl(sock, termios.TIOCOUTQ, queued)
    return queued[0]


def wait_until_stalled(peer: socket.socket, sender_pid: int | None = None) -> None:
    """Wait until the sender has filled all buffers: nothing more has come for 200 ms.

    A sender of another process, of one thread, must have slept at each look: one that the host
    keeps from running sends nothing either, and does not wait.
    """
    looks = 0
    before = -1
    give_up_s = time.monotonic() + LONGEST_S
    while looks < 10:
        now = waiting_bytes(peer)
        state = "S" if sender_pid is None else state_of(sender_pid)
        told = f"{now} bytes wait, {before} did before, and the sender's state is {state}"
        assert state != "Z", told
        assert time.monotonic() < give_up_s, told
        is_stalled = 0 < now == before and state == "S"
        looks = looks + 1 if is_stalled else 0
        before = now
        time.sleep(0.02)


def state_of(pid: int) -> str:
    """The state that proc_pid_stat(5) tells: S sleeps, R runs or waits for a CPU, Z has ended."""
    return _state_in(Path(f"/proc/{pid}/stat"))


def wait_until_asleep(*threads: threading.Thread) -> None:
    """Wait until these threads of ours wait in a call: they sleep at ten looks, 20 ms apart.

    One that the host keeps from running does not sleep. One that waits for the GIL does, but not at
    all ten looks, between which nobody has it.
    """
    looks = 0
    give_up_s = time.monotonic() + LONGEST_S
    while looks < 10:
        paths = [Path(f"/proc/self/task/{thread.native_id}/stat") for thread in threads]
        states = [_state_in(path) for path in paths]
        assert time.monotonic() < give_up_s, states
        looks = looks + 1 if set(states) == {"S"} else 0
        time.sleep(0.02)


def _state_in(stat: Path) -> str:
    return stat.read_text().rpartition(")")[2].split()[0]


def start_python(
    script: str, ours: socket.socket, *arguments: str, options: tuple[str, ...] = ()
) -> subprocess.Popen[str]:
    """Run a script that finds its end of the pair as `sock`; ours is closed here."""
    head = "import socket, sys\nsock = socket.socket(fileno=int(sys.argv[1]))\n"
    with ours:
        return subprocess.Popen(
            [
                *(sys.executable, *options, "-c", head + textwrap.dedent(script)),
                *(str(ours.fileno()), *arguments),
            ],
            pass_fds=[ours.fileno()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def finish(process: subprocess.Popen[str], status: int | None = None) -> tuple[str, str]:
    """What it printed, on both streams; it must end with `status`, if told, within 2 minutes."""
    try:
        out, err = process.communicate(timeout=2 * LONGEST_S)
    finally:
        process.kill()
        process.wait()
    assert status is None or process.returncode == status, err
    return out, err
