"""Comparisons of two cases: which is faster, which won, where that cannot be said, and why."""
