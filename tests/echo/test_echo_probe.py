"""`--probe`: what the kernel held of all workers' connections is in the run's result."""

from __future__ import annotations

from tests.support.command import Command

RUN = ("--only", "runtime=native", "--size", 100, "--workers", 3, "--duration", "1s")


def test_samples_are_of_the_runs_time_and_connections(command: Command) -> None:
    done = command.run(*RUN, "--rounds", 1, "--probe", "5ms")
    assert done.code == 0, done.stderr
    [run] = done.runs
    columns = run["samples"]["columns"]
    times = columns["at_ns"]
    assert len(times) > 1
    assert times == sorted(times)
    assert times[0] >= 0
    assert times[-1] <= run["counters"]["run_time_ns"]
    # The last one may be asked for before the end, and answered after it.
    assert set(columns["client_connections"][:-1]) == {3}
    assert set(columns["server_connections"][:-1]) == {3}
    assert run["counters"]["probe_cpu_ns"] > 0
    assert "probed" in [warning["code"] for warning in run["warnings"]]
    assert "the kernel was asked every 5ms beside the run" in done.stdout
    assert done.result["plan"]["cases"][0]["parameters"]["probe_ns"] == 5_000_000
