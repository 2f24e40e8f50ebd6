"""The ways of sending: who drives it, and by which strategy."""
