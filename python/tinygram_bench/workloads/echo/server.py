"""The process of a server under test, `tg-server`: `python -m … server`, with a channel as stdin
and stdout.

It reads a `ServerOrder` from the channel (order.py), prints `listening PORT`, and serves until the
channel's other end is closed; for each line that comes meanwhile it tells what it has used.
"""

from __future__ import annotations

import gc
import io
import os
import sys
import threading

import msgspec

from tinygram_bench.processes.attached import settle
from tinygram_bench.workloads.echo.marks import answer_marks
from tinygram_bench.workloads.echo.order import ServerOrder
from tinygram_bench.workloads.echo.servers import server
from tinygram_bench.workloads.echo.servers.service import Service


def main() -> int:
    """Serve; a failure is the last line on stderr and exit status 1."""
    os.environ.pop("LD_PRELOAD", None)
    # Without a buffer: whoever answers marks reads on from here.
    channel = io.FileIO(0, closefd=False)
    order = msgspec.json.decode(channel.readline(), type=ServerOrder)
    settle("tg-server", order.parent_pid, order.cpu)
    service = Service(order)
    marks = threading.Thread(
        target=answer_marks, args=(channel, service), name="marks", daemon=True
    )
    marks.start()
    serve = server(order.runtime, order.implementation, order.server).load()
    gc.collect()
    gc.freeze()
    try:
        serve(service)
    except OSError as failure:
        print(f"{type(failure).__name__}: {failure}", file=sys.stderr)
    else:
        print("it stopped serving", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
