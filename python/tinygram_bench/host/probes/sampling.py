"""Samples of what the kernel held of a run's connections while it ran: `--probe 10ms`.

A native thread in the bench's own process asks the kernel at even intervals (crates/load,
src/diag). It takes time from the cores of the run, which a warning of the run tells.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from tinygram_bench import _native
from tinygram_bench.host.network import Network
from tinygram_bench.model.result import Run, Samples, Warning
from tinygram_bench.model.units import format_duration_ns


class RunProbe:
    """Samples during one run; without an interval it does nothing."""

    def __init__(self, port: int, interval_ns: int | None, has_server: bool = True) -> None:
        """Start sampling the connections to `port` of the calling thread's network.

        `has_server`: whether the server is in that network; otherwise its side is left out.
        """
        self._interval_ns = interval_ns
        self._has_server = has_server
        self._probe: _native.SocketProbe | None = None
        self._refusal: str | None = None
        self._started_ns = time.monotonic_ns()
        if interval_ns is not None:
            try:
                self._probe = _native.SocketProbe(port, interval_ns)
            except OSError as error:
                self._refusal = str(error)

    def added_to(self, run: Run, start_ns: int) -> Run:
        """End sampling; return the run with its samples from `start_ns` to its end."""
        if self._interval_ns is None:
            return run
        if self._probe is None:
            return _warned(run, "no_samples", f"sock_diag is not available here: {self._refusal}")
        interval_ns, cpu_ns, columns, failure = self._probe.stop()
        share = cpu_ns / max(1, time.monotonic_ns() - self._started_ns)
        run_time_ns = run.counters.get("run_time_ns") or 0
        found = dict(columns)
        if not self._has_server:
            found = without_server(found)
        samples = samples_between(found, start_ns, start_ns + run_time_ns, interval_ns)
        run = msgspec.structs.replace(
            run, samples=samples, counters=run.counters | {"probe_cpu_ns": cpu_ns}
        )
        if failure is not None:
            run = _warned(run, "samples_end_early", f"the probe's samples end early: {failure}")
        return _warned(
            run,
            "probed",
            f"the kernel was asked every {format_duration_ns(self._interval_ns)} beside the run, "
            f"which took {share:.2%} of a core over its time, start and end included: compare with "
            "what was probed, too",
        )

    def stop(self) -> None:
        """End sampling, if it has not ended yet."""
        self._probe = None


def samples_between(
    columns: dict[str, list[int]], start_ns: int, end_ns: int, interval_ns: int
) -> Samples:
    """The samples between two times; their own times then count from `start_ns`."""
    times = columns["at_ns"]
    within = [index for index, at_ns in enumerate(times) if start_ns <= at_ns <= end_ns]
    kept = {name: tuple(values[index] for index in within) for name, values in columns.items()}
    kept["at_ns"] = tuple(at_ns - start_ns for at_ns in kept["at_ns"])
    return Samples(interval_ns, kept)


def without_server(columns: dict[str, list[int]]) -> dict[str, list[int]]:
    """Only the client's columns: of a server on another host nothing is known, which is not 0."""
    return {
        name: values
        for name, values in columns.items()
        if name == "at_ns" or name.startswith("client_")
    }


def _warned(run: Run, code: str, message: str) -> Run:
    return msgspec.structs.replace(run, warnings=(*run.warnings, Warning(code, message)))


@contextmanager
def probing(
    interval_ns: int | None, port: int, network: Network, has_server: bool = True
) -> Iterator[RunProbe]:
    """A probe of connections to `port` in `network`, which ends with the block at the latest."""
    with network.entered():
        probe = RunProbe(port, interval_ns, has_server)
    try:
        yield probe
    finally:
        probe.stop()
