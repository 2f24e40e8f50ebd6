"""Samples beside a run: those of its time only, and never in the way of the run itself."""

from __future__ import annotations

import errno
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.watch.sockets import connected, port_of

from tinygram_bench import _native
from tinygram_bench.host.network import Network
from tinygram_bench.host.probes import sampling
from tinygram_bench.host.probes.sampling import probing, samples_between
from tinygram_bench.model.result import Run

RUN = Run("stream/loop/nodelay", 0, {"run_time_ns": 3_600_000_000_000}, {})


def test_times_count_from_the_runs_start_and_end_with_it() -> None:
    columns = {"at_ns": [90, 100, 110, 120, 130], "client_rtt_us": [1, 2, 3, 4, 5]}
    samples = samples_between(columns, 100, 120, 10)
    assert samples.interval_ns == 10
    assert samples.columns == {"at_ns": (0, 10, 20), "client_rtt_us": (2, 3, 4)}


@given(st.lists(st.integers(0, 1000)), st.integers(0, 1000), st.integers(0, 1000))
def test_every_column_keeps_as_many(at_ns: list[int], start_ns: int, end_ns: int) -> None:
    samples = samples_between({"at_ns": at_ns, "x": at_ns}, start_ns, end_ns, 1)
    kept = [each for each in at_ns if start_ns <= each <= end_ns]
    assert samples.columns["x"] == tuple(kept)
    assert samples.columns["at_ns"] == tuple(each - start_ns for each in kept)


def test_without_an_interval_the_run_is_as_it_was() -> None:
    with probing(None, 1, Network()) as probe:
        assert probe.added_to(RUN, 0) is RUN


def test_a_run_that_was_probed_has_samples_and_says_so() -> None:
    with connected() as (_, server), probing(1_000_000, port_of(server), Network()) as probe:
        run = probe.added_to(RUN, 0)
        assert run.samples is not None
        assert run.counters["probe_cpu_ns"] is not None
        assert len({len(values) for values in run.samples.columns.values()}) == 1
        (warning,) = run.warnings
        assert warning.code == "probed"
        assert warning.message.startswith("the kernel was asked every 1ms beside the run")
        assert warning.figures == ()


def test_where_there_is_no_sock_diag_the_run_says_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPROTONOSUPPORT, "Protocol not supported")

    monkeypatch.setattr(sampling, "_native", SimpleNamespace(SocketProbe=refuse))
    with probing(1_000_000, 1, Network()) as probe:
        run = probe.added_to(RUN, 0)
    assert run.samples is None
    (warning,) = run.warnings
    assert (warning.code, "Protocol not supported" in warning.message) == ("no_samples", True)


def test_a_probe_is_stopped_once() -> None:
    probe = _native.SocketProbe(1, 1_000_000_000)
    assert probe.stop()[3] is None
    with pytest.raises(RuntimeError, match="stopped once"):
        probe.stop()
