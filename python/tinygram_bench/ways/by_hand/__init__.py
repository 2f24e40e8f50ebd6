"""Sending by hand on the standard library, as careful people write it today.

Each runtime is one file; the strategies are in `blocking` (for sockets that wait) and `streams`
(for asyncio's StreamWriter), one file each, so that a strategy is written once for every runtime
of its kind.
"""
