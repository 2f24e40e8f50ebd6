"""Threads that hand lists of messages over to one `tinygram.CoalescingSocket`: `send_many`."""

from functools import partial

from tinygram_bench.ways.library import threads

run = partial(threads.run, hands_over_lists=True)
