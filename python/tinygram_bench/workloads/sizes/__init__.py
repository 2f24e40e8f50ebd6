"""`sizes`: message size against latency and bandwidth, a connection per sample.

A sample is a setup (two big-endian u32: length, count), then count × (length bytes → a 4-byte
big-endian acknowledgement with the length). Beside samples, parts of what a round trip costs on
this host are timed.
"""
