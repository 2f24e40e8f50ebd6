"""A paced stream in plain Python, which shares no code with the bench.

usage: paced_stream.py CPU BYTES PORT RATE COUNT. Message n leaves n / RATE s after the time that is
printed (CLOCK_MONOTONIC, ns); what receives it is paced_stream.c.

It wakes by the rule of decision 0002, written here once more: the margin is learned from each
sleep, and what is left is spun. A longer spin leaves a warmer core when the message is due.
"""

import ctypes
import gc
import os
import socket
import sys
import time

_PR_SET_TIMERSLACK = 29
_FIRST_NS, _LEAST_NS, _MOST_NS = 5_000, 2_000, 100_000
_LEAST_SLEEP_NS = 2_000
_SETTLE_NS = 20_000_000


def main() -> None:
    cpu, message_bytes, port, rate_per_s, count = map(int, sys.argv[1:])
    os.sched_setaffinity(0, {cpu})
    sock = socket.socket()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.connect(("127.0.0.1", port))
    message = bytes(message_bytes)
    gc.freeze()
    # A sleep has the kernel's slack of 50 µs otherwise.
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1)
    margin_ns: float = _FIRST_NS
    start_ns = time.monotonic_ns() + _SETTLE_NS
    for each in range(count):
        due_ns = start_ns + each * 1_000_000_000 // rate_per_s
        left_ns = due_ns - time.monotonic_ns()
        if left_ns > margin_ns + _LEAST_SLEEP_NS:
            time.sleep((left_ns - margin_ns) / 1e9)
            overslept = time.monotonic_ns() > due_ns
            margin_ns *= 1.25 if overslept else 1 - 1 / 32
        else:
            margin_ns *= 1 - 1 / 4096
        margin_ns = min(max(margin_ns, _LEAST_NS), _MOST_NS)
        while time.monotonic_ns() < due_ns:
            pass
        sock.sendall(message)
    print(start_ns)


if __name__ == "__main__":
    main()
