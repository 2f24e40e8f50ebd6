"""A receiver that loses, doubles, swaps or alters bytes between its read and its check."""

from __future__ import annotations

import json
import socket
import struct
import sys
import time

from tests.stream.programs.faults import FaultyStream
from tests.stream.programs.options import Options

from tinygram_bench._native import MessagePool, StreamCheck


def main() -> int:
    """`faulty_receiver FAULT` and a receiver's options; exit status 1 if the check sees it."""
    options = Options.from_arguments(sys.argv[2:])
    stream = FaultyStream(sys.argv[1])
    pool = MessagePool(options.seed, options.min_bytes, options.max_bytes)
    check = StreamCheck(pool, options.messages)
    received_bytes = 0
    with socket.create_server(("127.0.0.1", 0)) as listener, open(options.notes, "wb") as notes:
        print(f"listening {listener.getsockname()[1]}", flush=True)
        connection, _ = listener.accept()
        with connection:
            while chunk := connection.recv(options.receive_buffer):
                received_bytes += len(chunk)
                notes.write(struct.pack("<QQ", received_bytes, time.monotonic_ns()))
                check.push(stream.passed(chunk))
    if not stream.is_done:
        raise EOFError("the stream ended before the fault")
    check.finish()
    print(json.dumps({"receiver_read_bytes": received_bytes}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
