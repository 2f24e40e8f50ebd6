"""A server and a client on two hosts, and how long their round trips may take at 40 ms."""

from __future__ import annotations

import sys

PYTHON = sys.executable
SERVER = (
    f"{PYTHON} -c \"import socket; s = socket.create_server(('0.0.0.0', 7000)); "
    "c, _ = s.accept(); list(map(c.sendall, iter(lambda: c.recv(100), b'')))\""
)
# The far program is waited for, but not for ever: on a busy host it may not listen yet.
CONNECTED = (
    "import os, socket, time\n"
    "give_up = time.monotonic() + 60\n"
    "while True:\n"
    "    try: c = socket.create_connection((os.environ['TINYGRAM_FAR'], 7000)); break\n"
    "    except ConnectionRefusedError: assert time.monotonic() < give_up; time.sleep(0.01)\n"
)
CLIENT = (
    f"{CONNECTED}"
    "c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
    "took = []\n"
    "for _ in range(20):\n"
    "    at = time.monotonic(); c.sendall(b'over'); said = c.recv(100)\n"
    "    took.append(time.monotonic() - at)\n"
    "print(said.decode(), min(took))"
)
"""Tells its shortest round trip: a host that stops makes others longer."""
NETEMS_LEAST_S = 0.0399
RELAYS_LEAST_S = 0.025
"""More than one direction alone; calibrating on a busy host may have taken off too much."""
MOST_S = 0.08
"""The round trip's bound holds for each direction: a host stops for some of 20, not for all."""
