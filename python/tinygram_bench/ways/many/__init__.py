"""Ways that send a stream on many connections, `way.sockets`.

Message i is sent on connection i modulo their number.
"""
