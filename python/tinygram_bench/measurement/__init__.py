"""Runs a plan, and records its result as it grows."""
