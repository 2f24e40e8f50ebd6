"""Coalescing for asyncio, on the stock event loop and on uvloop.

It uses the loop's public interface alone: each connection's own transport stays below ours, reads,
and takes what the kernel does not.
"""
