"""Sending with tinygram itself, through its public API, as a user's program would."""
