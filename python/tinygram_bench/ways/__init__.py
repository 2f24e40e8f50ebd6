"""The ways of sending; each is a runtime, which drives the sending, and a strategy."""
