"""Coalescing for asyncio, on the stock event loop and on uvloop.

It uses only the loop's public interface: each connection's own transport stays below ours, reads,
and takes what the kernel does not. The exception is asyncio's TLS, which `established_tls` gives
short ways, in native code where that knows OpenSSL, and whose end `end_of_tls` watches.
"""
