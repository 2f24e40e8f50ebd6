"""A relay between the sender and the real receiver, which passes bytes on but for one fault.

It starts the receiver, says what the receiver says, but for the port, which is its own, and ends
as the receiver ends.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import Protocol

from tests.stream.programs.faults import FaultyStream
from tests.stream.programs.options import Options

RECEIVER = [sys.executable, "-m", "tinygram_bench.workloads.stream.receiver"]


class Passing(Protocol):
    """What a relay does to a stream."""

    is_done: bool

    def passed(self, chunk: bytes) -> bytes:
        """What to pass on for this chunk."""


def main() -> int:
    """`relay FAULT` and a receiver's options."""
    return relay(FaultyStream(sys.argv[1]), Options.from_arguments(sys.argv[2:]))


def relay(stream: Passing, options: Options) -> int:
    """Relay a stream; the exit status is the receiver's."""
    notes_fd = int(options.notes.rpartition("/")[2])
    receiver = subprocess.Popen(
        [*RECEIVER, *options.words_for(parent=os.getpid())],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(notes_fd,),
        text=True,
    )
    assert receiver.stdout is not None
    assert receiver.stderr is not None
    port = int(receiver.stdout.readline().removeprefix("listening "))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"listening {listener.getsockname()[1]}", flush=True)
        sender, _ = listener.accept()
    with sender, socket.create_connection(("127.0.0.1", port)) as onwards:
        try:
            while chunk := sender.recv(1 << 16):
                onwards.sendall(stream.passed(chunk))
            onwards.shutdown(socket.SHUT_WR)
        except OSError as error:
            # The receiver hangs up at the first wrong byte; its own words come after ours.
            print(f"the relay was cut off: {error}", file=sys.stderr)
        status = receiver.wait()
    if not stream.is_done:
        raise EOFError("the stream ended before that was done to it")
    print(receiver.stdout.read(), end="")
    print(receiver.stderr.read(), end="", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
