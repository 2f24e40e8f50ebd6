"""A paced stream in plain Python, which shares no code with the bench.

usage: paced_stream.py CPU BYTES PORT RATE COUNT. Message n leaves n / RATE s after the time that is
printed (CLOCK_MONOTONIC, ns); what receives it is paced_stream.c.
"""

import gc
import os
import socket
import sys
import time

_SPIN_NS = 100_000
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
    start_ns = time.monotonic_ns() + _SETTLE_NS
    for each in range(count):
        due_ns = start_ns + each * 1_000_000_000 // rate_per_s
        left_ns = due_ns - time.monotonic_ns()
        if left_ns > _SPIN_NS:
            # A sleep of Python's has the kernel's slack of 50 µs.
            time.sleep((left_ns - _SPIN_NS) / 1e9)
        while time.monotonic_ns() < due_ns:
            pass
        sock.sendall(message)
    print(start_ns)


if __name__ == "__main__":
    main()
