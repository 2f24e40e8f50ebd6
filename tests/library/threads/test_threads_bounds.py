"""Many threads on one connection: however many messages, in bounded memory."""

from __future__ import annotations

import signal
import socket
import struct
import threading
from pathlib import Path

import pytest
from tests.library.wires import LONGEST_S, finish, start_python, tcp_pair, wait_until

from tinygram import CoalescingSocket

THREADS = 32
MESSAGES = 1_000_000 // THREADS
MESSAGE = struct.Struct("<BIQ4x")
"""Whose it is, its number, and a value that no other message has.

17 bytes, a prime that divides nothing the kernel takes at a time: that may be 13 times 8 KiB.
"""

FIRST = 20_000
"""Messages that are sent as one, by a sender of their own: more than both kernels' buffers hold."""
STOPS = 40
PAUSE_BYTES = 150_000
"""How much the reader reads between its stops: less than is held at each."""

READER = f"""
import os, signal, struct
message = struct.Struct("<BIQ4x")
next_number = [0] * {THREADS + 1}
kept = b""
read_bytes = stops = 0
while True:
    if stops < {STOPS} and read_bytes >= stops * {PAUSE_BYTES}:
        stops += 1
        os.kill(os.getpid(), signal.SIGSTOP)
    chunk = sock.recv(20_000)
    if not chunk:
        break
    read_bytes += len(chunk)
    chunk = kept + chunk
    end = len(chunk) // message.size * message.size
    kept = chunk[end:]
    for sender, number, value in message.iter_unpack(chunk[:end]):
        assert number == next_number[sender], (sender, number, next_number[sender])
        assert value == (sender << 32 | number) * 0x9E3779B97F4A7C15 & (2**64 - 1), (sender, number)
        next_number[sender] += 1
assert kept == b"", kept
print(*sorted(set(next_number)))
"""


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_a_million_messages_of_32_threads_and_a_reader_that_pauses() -> None:
    ours, peer = tcp_pair()
    for option, end in ((socket.SO_SNDBUF, ours), (socket.SO_RCVBUF, peer)):
        end.setsockopt(socket.SOL_SOCKET, option, 64 << 10)
    reading = start_python(READER, peer)
    bound = 512 << 10
    with ours, CoalescingSocket(ours, max_buffered_bytes=bound) as sock:

        def packed(sender: int, number: int) -> bytes:
            value = (sender << 32 | number) * 0x9E3779B97F4A7C15 & (2**64 - 1)
            return MESSAGE.pack(sender, number, value)

        def send(sender: int) -> None:
            for number in range(MESSAGES):
                sock.send(packed(sender, number))

        def is_held_up() -> bool:
            return is_stopped(reading.pid) and sock.held_bytes > bound // 2

        # The reader has stopped before its first read, so that this write is cut.
        wait_until(lambda: is_stopped(reading.pid), "the reader has not stopped")
        first = b"".join(packed(THREADS, number) for number in range(FIRST))
        sock.send(first)
        wait_until(lambda: sock.stats().bytes > 0, "nothing is written")
        assert sock.stats().bytes < len(first)
        threads = [threading.Thread(target=send, args=(n,), daemon=True) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for _ in range(STOPS):
            # More than both kernels' buffers take: the writing thread is in mid-batch.
            wait_until(is_held_up, "they are not held up")
            reading.send_signal(signal.SIGCONT)
        for thread in threads:
            thread.join(timeout=2 * LONGEST_S)
            assert not thread.is_alive()
        sock.close(timeout_s=60)
    out, err = finish(reading, 0)
    assert out.split() == [str(FIRST), str(MESSAGES)], err
    assert sock.stats().messages == THREADS * MESSAGES + 1


STALLED_SENDERS = """
import errno, re, threading, time
import tinygram
from pathlib import Path

BOUND = 4 << 20

def resident_bytes():
    return int(re.search(r"VmRSS:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) << 10

def send():
    global refused
    for number in range({attempts}):
        try:
            out.send(b"%10d" % number * 100)
        except BlockingIOError as error:
            assert error.errno == errno.EAGAIN
            refused += 1

sock.setblocking({blocks})
refused = 0
out = tinygram.CoalescingSocket(
    sock, strategy=tinygram.{strategy}, max_buffered_bytes=BOUND
)
threads = [threading.Thread(target=send, daemon=True) for _ in range(16)]
before = resident_bytes()
for thread in threads:
    thread.start()
peak = 0
give_up_s = time.monotonic() + (2 if {blocks} else 90)
while time.monotonic() < give_up_s and any(thread.is_alive() for thread in threads):
    peak = max(peak, resident_bytes())
    assert out.held_bytes <= BOUND
    time.sleep(0.01)
peak = max(peak, resident_bytes())
print(peak - before, refused, sum(thread.is_alive() for thread in threads), out.stats().messages)
"""


@pytest.mark.parametrize("strategy", ["adaptive", "combine", "coalesce(200)", "competitive(200)"])
@pytest.mark.parametrize("blocks", [True, False])
def test_a_peer_that_never_reads_costs_what_was_agreed_and_no_more(
    tcp: tuple[socket.socket, socket.socket], strategy: str, blocks: bool
) -> None:
    """cpython #127655. 16 threads hand over 320 MB to a bound of 4 MiB, 64 MB where it is refused.

    Those that wait have more: one alone could hand over 4 MB, which the bound and the kernel take.
    """
    ours, peer = tcp
    ours.settimeout(None)
    attempts = 20_000 if blocks else 4_000
    script = STALLED_SENDERS.format(strategy=strategy, blocks=blocks, attempts=attempts)
    out, err = finish(start_python(script, ours), 0)
    assert out, err
    grown_bytes, refused, waiting, messages = map(int, out.split())
    # What is held, twice: a growing buffer has a copy of itself. Besides, 16 threads' stacks.
    assert grown_bytes < 2 * (4 << 20) + (8 << 20)
    assert (refused > 0, waiting) == ((False, 16) if blocks else (True, 0))
    assert messages < 20_000
    peer.close()
