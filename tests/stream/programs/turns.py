"""The real receiver at every start but one: `turns FOLDER TURN PROGRAM …` and the options.

PROGRAM takes its place at start number TURN, counted from 1 by the files in FOLDER.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Become the one or the other."""
    folder, turn = Path(sys.argv[1]), int(sys.argv[2])
    words = sys.argv[3:]
    start = len(list(folder.iterdir())) + 1
    (folder / str(start)).touch()
    if start != turn:
        options = words[words.index("--messages") :]
        words = ["-m", "tinygram.bench.workloads.stream.receiver", *options]
    os.execv(sys.executable, [sys.executable, *words])


if __name__ == "__main__":
    main()
