"""Coalescing for asyncio, on the stock event loop and on uvloop.

It uses only the loop's public interface: each connection's own transport stays below ours, reads,
and takes what the kernel does not.
"""
