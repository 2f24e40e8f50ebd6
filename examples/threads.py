"""Eight threads send on one connection, with no lock and no queue of their own.

While the connection is idle, a message is written by the thread that sends it; what comes while
something is on its way is gathered, and written by one native thread. `close` returns when the peer
has acknowledged everything, or raises an error that says what was not delivered.
"""

from __future__ import annotations

import socket
import threading

import tinygram

THREADS = 8
MESSAGES = 2_000


def send_some(out: tinygram.CoalescingSocket, number: int) -> None:
    """One of the threads: its messages stay in their order."""
    for count in range(MESSAGES):
        out.send(b"%d %d\n" % (number, count))


def main() -> None:
    """Send to ourselves, over loopback; then to a peer that goes away."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        out = tinygram.CoalescingSocket(socket.create_connection(address))
        peer = listening.accept()[0]
        threads = [
            threading.Thread(target=send_some, args=(out, number)) for number in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        with peer, peer.makefile("rb") as received:
            lines = [next(received).split() for _ in range(THREADS * MESSAGES)]
        for thread in threads:
            thread.join()
        for number in range(THREADS):
            own = [int(count) for sender, count in lines if int(sender) == number]
            assert own == list(range(MESSAGES))
        print(f"{len(lines)} messages of {THREADS} threads arrived, each thread's in order")
        try:
            out.send(b"is anybody there?\n")
            out.close(timeout_s=5)
        except tinygram.ConnectionFailedError as failure:
            undelivered = failure.unknown_bytes + failure.unsent_bytes
            print(f"not delivered: {undelivered} bytes")


if __name__ == "__main__":
    main()
