"""Processes that die with the one that started them: our own, and programs that are not ours.

The setting to die with the parent survives exec (prctl(2), PR_SET_PDEATHSIG), so that a killed
bench leaves no such program behind. Processes that the program has started do not have it: a guard
in its process group ends the group when the bench has ended. Only a process that has left that
group, as a daemon does, is not found.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Sequence

from tinygram_bench import _native


def settle(name: str, parent_pid: int, cpu: int | None) -> None:
    """Give this process a name, tie its life to its parent's, and pin it to a core (None: any)."""
    _native.die_with_parent(parent_pid)
    _native.set_process_name(name)
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})


def attached(program: Sequence[str]) -> list[str]:
    """The command that runs `program` so that it dies with this process."""
    return [sys.executable, "-m", "tinygram_bench.processes.attached", str(os.getpid()), *program]


def main() -> int:
    """`PARENT PROGRAM …`: become the program; the exit status is 1 when it cannot be started.

    It leads its process group.
    """
    parent_pid, *command = sys.argv[1:]
    _native.die_with_parent(int(parent_pid))
    parent = os.pidfd_open(int(parent_pid))
    _leave_guard(parent)
    os.close(parent)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr)
    return 1


def _leave_guard(parent: int) -> None:
    """Start a process that ends this group when `parent`, a pidfd, has ended."""
    group = os.getpid()
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        return
    # The program must have no child that it did not start.
    if os.fork() == 0:
        os.closerange(0, parent)
        os.closerange(parent + 1, os.sysconf("SC_OPEN_MAX"))
        select.select([parent], [], [])
        os.killpg(group, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
