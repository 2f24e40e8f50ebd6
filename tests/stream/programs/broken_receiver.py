"""A receiver that ends, hangs, or says what is not so: `broken_receiver HOW` and the options.

Up to the point where it breaks it does what a receiver should; each way to break has a function.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.stream.programs.options import Options

from tinygram_bench._native import MessagePool

# What a stopped reader leaves unread must not all fit into the kernel: the sender would be done.
_KERNEL_BYTES = 1 << 16
Note = tuple[int, int]
"""Bytes so far, and when (ns)."""


class Stream:
    """One accepted connection and its notes."""

    def __init__(self, options: Options) -> None:
        pool = MessagePool(options.seed, options.min_bytes, options.max_bytes)
        self._expected_bytes = pool.stream_bytes(options.messages)
        self._buffer_bytes = options.receive_buffer
        self._notes = Path(options.notes)
        self.notes: list[Note] = []
        with socket.create_server(("127.0.0.1", 0)) as listener:
            # The connection has it from the listener, before anything comes.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _KERNEL_BYTES)
            print(f"listening {listener.getsockname()[1]}", flush=True)
            self.connection, _ = listener.accept()

    def read_half(self) -> None:
        """Half of the stream, so that the sender is in the midst of it."""
        while self._received_bytes() < self._expected_bytes // 2 and self._read():
            pass

    def read_all(self) -> None:
        """To the end."""
        while self._read():
            pass

    def leave_notes(self, notes: list[Note], cut_bytes: int = 0) -> None:
        """Write them to the file, but for its last bytes."""
        packed = b"".join(struct.pack("<QQ", *note) for note in notes)
        self._notes.write_bytes(packed[: len(packed) - cut_bytes])

    def _read(self) -> bool:
        chunk = self.connection.recv(self._buffer_bytes)
        if chunk:
            self.notes.append((self._received_bytes() + len(chunk), time.monotonic_ns()))
        return bool(chunk)

    def _received_bytes(self) -> int:
        return self.notes[-1][0] if self.notes else 0


def die(options: Options) -> int:
    Stream(options).read_half()
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def reset(options: Options) -> int:
    stream = Stream(options)
    stream.read_half()
    return reset_now(stream)


def reset_at_once(options: Options) -> int:
    return reset_now(Stream(options))


def reset_now(stream: Stream) -> int:
    stream.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.connection.close()
    return pretend(stream)


def hang_up(options: Options) -> int:
    stream = Stream(options)
    stream.read_half()
    stream.connection.close()
    return pretend(stream)


def pretend(stream: Stream) -> int:
    """Claim that all is well."""
    stream.leave_notes(stream.notes)
    print("{}")
    return 0


def hang(options: Options) -> int:
    stream = Stream(options)
    signal.pause()
    return pretend(stream)


def never_listen(_options: Options) -> int:
    signal.pause()
    return 0


def say_rubbish(_options: Options) -> int:
    print("hello, world", flush=True)
    signal.pause()
    return 0


def say_no_port(_options: Options) -> int:
    print("listening 70000", flush=True)
    signal.pause()
    return 0


def exit_early(_options: Options) -> int:
    print("no memory for my notes", file=sys.stderr)
    return 3


def exit_early_content(_options: Options) -> int:
    return 0


def refuse(_options: Options) -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    print(f"listening {port}", flush=True)
    # It lives on, so that only the sender can tell.
    select.select([], [], [], 30)
    return 0


REPORTS = {
    "nothing": "",
    "words": "all is well",
    "array": "[1, 2]",
    "text": '{"reads": "many"}',
    "fraction": '{"reads": 1.5}',
    "nested": '{"reads": {}}',
    "infinity": '{"reads": 1e999}',
    "constant": '{"reads": Infinity}',
    "huge": '{"reads": 1' + "0" * 40 + "}",
    "negative": '{"receiver_cpu_ns": -1}',
    "absurd": '{"receiver_cpu_ns": 1000000000000000000}',
    "deep": "[" * 200_000,
    "bytes": "\udcff",
}


def report(text: str) -> Callable[[Options], int]:
    def receive(options: Options) -> int:
        stream = Stream(options)
        stream.read_all()
        stream.leave_notes(stream.notes)
        sys.stdout.buffer.write(text.encode(errors="surrogateescape") + b"\n")
        return 0

    return receive


NOTES: dict[str, Callable[[Stream], None]] = {
    "none": lambda stream: stream.leave_notes([]),
    "cut-off": lambda stream: stream.leave_notes(stream.notes, cut_bytes=5),
    "last-missing": lambda stream: stream.leave_notes(stream.notes[:-1]),
    "bytes-backwards": lambda stream: stream.leave_notes(
        [(stream.notes[-1][0], stream.notes[0][1]), *stream.notes]
    ),
    "times-backwards": lambda stream: stream.leave_notes(
        [(size, stream.notes[0][1] - index) for index, (size, _) in enumerate(stream.notes)]
    ),
    "before-the-sending": lambda stream: stream.leave_notes(
        [(size, stream.notes[0][1] + index) for index, (size, _) in enumerate(stream.notes)]
    ),
    "in-the-future": lambda stream: stream.leave_notes(
        [*stream.notes[:-1], (stream.notes[-1][0], time.monotonic_ns() + 3_600_000_000_000)]
    ),
    "too-many-bytes": lambda stream: stream.leave_notes(
        [*stream.notes, (stream.notes[-1][0] + 1, time.monotonic_ns())]
    ),
}


def leave(notes: Callable[[Stream], None]) -> Callable[[Options], int]:
    def receive(options: Options) -> int:
        stream = Stream(options)
        stream.read_all()
        notes(stream)
        print("{}")
        return 0

    return receive


WAYS: dict[str, Callable[[Options], int]] = {
    **{
        function.__name__.replace("_", "-"): function
        for function in (
            *(die, reset, reset_at_once, hang_up, hang, never_listen, say_rubbish, say_no_port),
            *(exit_early, exit_early_content, refuse),
        )
    },
    **{f"report-{name}": report(text) for name, text in REPORTS.items()},
    **{f"notes-{name}": leave(notes) for name, notes in NOTES.items()},
}

if __name__ == "__main__":
    sys.exit(WAYS[sys.argv[1]](Options.from_arguments(sys.argv[2:])))
