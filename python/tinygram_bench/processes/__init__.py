"""Processes that the bench starts: how they are kept, spoken to, and ended."""
