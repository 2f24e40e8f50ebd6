"""Runs a program that dies with the process that started it: `python -m … PARENT PROGRAM …`.

The wish to die with the parent survives exec (prctl(2), PR_SET_PDEATHSIG), so that a killed bench
leaves no program behind that knows nothing of it.
"""

from __future__ import annotations

import os
import sys

from tinygram import _native


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
