"""The bench: measures every way of sending small messages over TCP, side by side.

A package of its own, tinygram-bench. It may import the library (`tinygram`); the library never
imports it.
"""
