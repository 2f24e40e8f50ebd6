"""`sizes`: message size against latency and bandwidth, a connection per sample.

A setup (two big-endian u32: length, count), then count × (length bytes → a 4-byte big-endian
acknowledgement carrying the length). Beside it, parts of what a round trip costs on this host.
"""
