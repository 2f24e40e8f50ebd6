"""The limits: a send call for each subscriber, or one call of io_uring for all, in Rust."""

from __future__ import annotations

import socket
import time

from tinygram_bench import _native
from tinygram_bench.model.strategies import IO_URING
from tinygram_bench.workloads.fanout.job import Job
from tinygram_bench.workloads.fanout.order import WARM_UP


def publish(job: Job) -> None:
    order = job.order
    fds = [sock.fileno() for sock in job.sockets]
    publisher = _native.NativePublisher(fds, order.server == IO_URING)
    job.calls = publisher.calls
    began_ns = time.monotonic_ns()
    publisher.warm_up(job.publications, WARM_UP, order.patience_ns)
    begin = job.warmed_up(time.monotonic_ns() - began_ns)
    slices = begin.slices
    count = publisher.publish(
        job.publications,
        WARM_UP,
        slices.native,
        slices.open_ns,
        begin.at_ns,
        order.native_pace,
        order.burst,
        order.patience_ns,
    )
    job.published(count)
    for sock in job.sockets:
        # The ring has references of its own, which would delay the end.
        sock.shutdown(socket.SHUT_WR)
        sock.close()
