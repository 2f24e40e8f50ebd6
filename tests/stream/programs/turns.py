"""A program of ours for each start: `turns FOLDER NAME:ARGUMENT …`, then a receiver's options.

The first start becomes the first of them, and so on; `receiver`, and every start after the last,
the real receiver. The files in FOLDER count the starts.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

RECEIVER = "tinygram_bench.workloads.stream.receiver"


def main() -> None:
    """Become the one whose turn it is."""
    folder, words = Path(sys.argv[1]), sys.argv[2:]
    split = words.index("--messages")
    turns, options = words[:split], words[split:]
    start = len(list(folder.iterdir()))
    (folder / str(start)).touch()
    name, _, argument = (turns[start] if start < len(turns) else "receiver").partition(":")
    if name == "receiver":
        os.execv(sys.executable, [sys.executable, "-m", RECEIVER, *options])
    module = f"{__spec__.parent}.{name}"
    os.execv(sys.executable, [sys.executable, "-m", module, argument, *options])


if __name__ == "__main__":
    main()
