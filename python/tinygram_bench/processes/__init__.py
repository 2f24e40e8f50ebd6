"""Processes that the bench starts: that they stay, are spoken to, and end."""
