"""Runs one side against its other end, and says what it cost: nanoseconds, less is better."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from statistics import median

from library.sides.sending import CONGESTION_CONTROL, MESSAGE_BYTES, SEED, WARM_UP, schedule

from tinygram_bench import _native
from tinygram_bench.host.placement import placement
from tinygram_bench.processes.workers import RunError, Worker, contents, wait_all

_BENCHES = Path(__file__).parents[1]
_LIMIT_S = 60.0


def flat_out_ns(side: str, count: int) -> float:
    """Nanoseconds per message, from the start to the note of the last byte."""
    start_ns, notes = _noted(side, count)
    return (_native.read_notes(notes, start_ns)[2] - start_ns) / count


def latency_p50_ns(side: str, count: int) -> float:
    """From when each message was due to the note of its last byte, the median."""
    start_ns, notes = _noted(side, count)
    pool = _native.MessagePool(SEED, MESSAGE_BYTES, MESSAGE_BYTES)
    return _native.match_paced(notes, pool, WARM_UP, start_ns, *schedule(count)).percentile_ns(50)


def trip_p50_ns(side: str, count: int) -> float:
    """From a message to its echo, the median; the side's last word says where the echo is made."""
    echoing = f"far_ends echo {side.split()[-1]}"
    with _worker(echoing) as echo, _worker(_sending(side, echo, count)) as sender:
        wait_all([echo, sender], _LIMIT_S)
        trips_ns = [int(word) for word in sender.output.split()]
    if len(trips_ns) != count:
        raise RunError(f"{side}: {len(trips_ns)} echoes came, not {count}")
    return median(trips_ns)


def tls_ns(side: str, count: int) -> float:
    """Nanoseconds per message under TLS, from the start until the last byte is decrypted."""
    reading = f"far_ends tls {_certificate()} {count}"
    with _worker(reading) as far_end, _worker(_sending(side, far_end, count)) as sender:
        wait_all([far_end, sender], _LIMIT_S)
        end_ns = int(far_end.output.split()[-1])
        return (end_ns - int(sender.output)) / count


def request_ns(side: str, count: int) -> float:
    """Nanoseconds per request that a server answers."""
    with _worker(side) as server, _worker(_sending("client", server, count)) as client:
        is_done = client.wait_ended(_LIMIT_S)
        if server.wait_ended(0):
            raise RunError(server.failure or f"the server ended before its client: {side}")
        if client.failure or not is_done:
            raise RunError(client.failure or f"the client did not finish in {_LIMIT_S:g} s")
        return float(client.output)


def _sending(side: str, far_end: Worker, count: int) -> str:
    return f"{side} {far_end.wait_listening(_LIMIT_S)} {count}"


def _noted(side: str, count: int) -> tuple[int, bytes]:
    """A sender's start, and the notes of tinygram's own receiver, which checks every byte."""
    notes_fd = os.memfd_create("notes")
    options = {
        "--messages": WARM_UP + count,
        "--min-bytes": MESSAGE_BYTES,
        "--max-bytes": MESSAGE_BYTES,
        "--seed": SEED,
        "--receive-buffer": 256 << 10,
        "--congestion-control": CONGESTION_CONTROL,
        "--notes": f"/dev/fd/{notes_fd}",
        "--parent": os.getpid(),
        "--cpu": placement("apart").receiver_cpu,
    }
    words = [str(word) for option in options.items() for word in option]
    try:
        command = [sys.executable, "-m", "tinygram_bench.workloads.stream.receiver", *words]
        with (
            Worker("receiver", command, pass_fds=[notes_fd]) as receiver,
            _worker(_sending(side, receiver, count)) as sender,
        ):
            wait_all([receiver, sender], _LIMIT_S)
            return int(sender.output), contents(notes_fd)
    finally:
        os.close(notes_fd)


@contextmanager
def _worker(side: str) -> Iterator[Worker]:
    """`python -m library.sides.SIDE`, ended with the block."""
    module, *arguments = side.split()
    command = [sys.executable, "-m", f"library.sides.{module}", *arguments]
    environment = os.environ | {"PYTHONPATH": str(_BENCHES), "PYTHONUNBUFFERED": "1"}
    with Worker(module, command, environment=environment) as worker:
        yield worker


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def _certificate() -> str:
    """A certificate and its key in one file, made once."""
    if shutil.which("openssl") is None:
        raise SystemExit("openssl, which makes certificates, is missing: apt-get install openssl")
    folder = Path(_folder().name)
    pem, key = folder / "both.pem", folder / "key.pem"
    # An elliptic curve, because its keys are made at once.
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    subprocess.run(
        [*command.split(), "-subj", "/CN=localhost", "-keyout", key, "-out", pem],
        check=True,
        capture_output=True,
    )
    pem.write_bytes(pem.read_bytes() + key.read_bytes())
    return str(pem)
