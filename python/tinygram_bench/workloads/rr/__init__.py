"""`rr`: callers send requests and wait for replies; how long that takes, and connecting apart.

On the wire there is no header: both sides know the sizes. A connection carries requests of Q bytes,
one after the other, and replies of R bytes in the same order; byte j of the reply to a connection's
request i (both from 0) is (i + j) modulo 251. Any program that follows this may be either side.
"""
