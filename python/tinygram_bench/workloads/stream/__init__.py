"""`stream`: N messages one way over one connection, flat out or paced.

The data connection carries no replies. The receiver notes (bytes so far, ns) per read; a
message's receipt is the time of the first note that reaches its last byte.
"""
