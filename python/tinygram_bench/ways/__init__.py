"""The ways of sending: a runtime that drives it, and a strategy."""
