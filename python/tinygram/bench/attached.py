"""Runs a program that knows nothing of us, and dies with the process that started it.

The wish to die with the parent survives exec (prctl(2), PR_SET_PDEATHSIG), so that a killed bench
leaves no program behind that knows nothing of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tinygram import _native


def attached(program: Sequence[str]) -> list[str]:
    """The words that run `program` so."""
    return [sys.executable, "-m", "tinygram.bench.attached", str(os.getpid()), *program]


def main() -> int:
    """Become the program; the exit status is 1 when it cannot be started."""
    parent_pid, *command = sys.argv[1:]
    _native.die_with_parent(int(parent_pid))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
