"""Measures the claims of docs/claims.md: `python -m claims`."""
