"""A relay that stands still once, in the midst of the stream: `standing_relay SECONDS` and options.

It stands still between taking bytes and passing them on, so that none of them, and none that
follows, arrives sooner than that.
"""

from __future__ import annotations

import sys
import time

from tests.stream.programs.options import Options
from tests.stream.programs.relay import relay

from tinygram_bench._native import MessagePool


class StandingStream:
    """Passes on what comes, at half of the stream that much later."""

    def __init__(self, options: Options, stop_s: float) -> None:
        pool = MessagePool(options.seed, options.min_bytes, options.max_bytes)
        self._half_bytes = pool.stream_bytes(options.messages) // 2
        self._stop_s = stop_s
        self.is_done = False

    def passed(self, chunk: bytes) -> bytes:
        self._half_bytes -= len(chunk)
        if self._half_bytes < 0 and not self.is_done:
            self.is_done = True
            time.sleep(self._stop_s)
        return chunk


def main() -> int:
    """Relay."""
    options = Options.from_arguments(sys.argv[2:])
    return relay(StandingStream(options, float(sys.argv[1])), options)


if __name__ == "__main__":
    sys.exit(main())
