"""`rr`: callers send requests and wait for replies; calls and connecting are timed apart.

There are no headers on the wire: both sides know the sizes. A connection carries requests of Q
bytes, one after the other, and replies of R bytes in the same order; byte j of the reply to a
connection's request i (both from 0) is (i + j) modulo 251. Any program that follows this may be
either side.
"""
