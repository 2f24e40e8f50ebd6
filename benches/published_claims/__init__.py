"""Measures the claims of docs/claims.md: `python -m published_claims`."""
