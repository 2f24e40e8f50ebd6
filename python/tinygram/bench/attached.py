"""Processes that die with the one that started them: our own, and programs that know nothing of us.

The wish to die with the parent survives exec (prctl(2), PR_SET_PDEATHSIG), so that a killed bench
leaves no program behind that knows nothing of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tinygram import _native


def settle(name: str, parent_pid: int, cpu: int | None) -> None:
    """Be a process of that name, which dies with its parent, and stay on that core (None: any)."""
    _native.die_with_parent(parent_pid)
    _native.set_process_name(name)
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})


def attached(program: Sequence[str]) -> list[str]:
    """The words that run `program`."""
    return [sys.executable, "-m", "tinygram.bench.attached", str(os.getpid()), *program]


def main() -> int:
    """`PARENT PROGRAM …`: become the program; the exit status is 1 when it cannot be started."""
    parent_pid, *command = sys.argv[1:]
    _native.die_with_parent(int(parent_pid))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
